//! Packets of SFTP, without their lengths.

use sftp_server::{Attributes, Extension, Name, Open, Request, Response, Status};

/// Returns a packet of each form.
pub(super) fn packets() -> Vec<(String, Vec<u8>)> {
    let path = |path: &str| path.as_bytes().to_vec();
    let attributes = Attributes {
        size_bytes: Some(5),
        owner: Some((1, 2)),
        mode: Some(0o100_644),
        times_s: Some((7, 8)),
    };
    let requests = [
        (
            "open",
            Request::Open {
                path: path("/etc/passwd"),
                open: Open::READ,
                attributes: Attributes::default(),
            },
        ),
        (
            "read",
            Request::Read {
                handle: vec![0; 4],
                offset_bytes: 0,
                length_bytes: 32 << 10,
            },
        ),
        (
            "setstat",
            Request::SetStat {
                path: path("file"),
                attributes,
            },
        ),
        ("stat", Request::Stat { path: path("/") }),
        ("realpath", Request::RealPath { path: path(".") }),
        (
            "rename",
            Request::Rename {
                from: path("a"),
                to: path("b"),
            },
        ),
        (
            "posix_rename",
            Request::Extended(Extension::PosixRename {
                from: path("a"),
                to: path("b"),
            }),
        ),
        ("limits", Request::Extended(Extension::Limits)),
    ];
    let name = Name {
        path: path("a"),
        long: path("-rw-r--r-- a"),
        attributes,
    };
    let responses = [
        ("names", Response::Names(vec![name])),
        ("status", Response::Status(Status::NoSuchFile)),
    ];
    let requests = (1..)
        .zip(requests)
        .map(|(id, (name, request))| (name, request.to_packet(id)));
    let responses = (9..)
        .zip(responses)
        .map(|(id, (name, response))| (name, response.to_packet(id)));
    requests
        .chain(responses)
        .map(|(name, packet)| {
            (
                name.to_owned(),
                packet.get(4..).unwrap_or_default().to_vec(),
            )
        })
        .collect()
}
