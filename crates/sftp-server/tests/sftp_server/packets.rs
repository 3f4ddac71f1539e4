//! Packets: written and read back, and any bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use sftp_server::{Attributes, Extension, Name, Open, Request, Response, Status};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..64)
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let values = (
        any::<Option<u64>>(),
        any::<Option<(u32, u32)>>(),
        any::<Option<u32>>(),
        any::<Option<(u32, u32)>>(),
    );
    values.prop_map(|(size_bytes, owner, mode, times_s)| Attributes {
        size_bytes,
        owner,
        mode,
        times_s,
    })
}

fn extensions() -> impl Strategy<Value = Extension> {
    prop_oneof![
        (bytes(), bytes()).prop_map(|(from, to)| Extension::PosixRename { from, to }),
        bytes().prop_map(|path| Extension::StatVfs { path }),
        bytes().prop_map(|handle| Extension::FStatVfs { handle }),
        (bytes(), bytes()).prop_map(|(from, to)| Extension::HardLink { from, to }),
        bytes().prop_map(|handle| Extension::Fsync { handle }),
        (bytes(), attributes())
            .prop_map(|(path, attributes)| Extension::LSetStat { path, attributes }),
        Just(Extension::Limits),
        Just(Extension::Unknown),
    ]
}

fn requests() -> impl Strategy<Value = Request> {
    prop_oneof![
        (bytes(), any::<u32>(), attributes()).prop_map(|(path, open, attributes)| Request::Open {
            path,
            open: Open(open),
            attributes,
        }),
        bytes().prop_map(|handle| Request::Close { handle }),
        (bytes(), any::<u64>(), any::<u32>()).prop_map(|(handle, offset_bytes, length_bytes)| {
            Request::Read {
                handle,
                offset_bytes,
                length_bytes,
            }
        }),
        (bytes(), any::<u64>(), bytes()).prop_map(|(handle, offset_bytes, data)| Request::Write {
            handle,
            offset_bytes,
            data,
        }),
        bytes().prop_map(|path| Request::LStat { path }),
        bytes().prop_map(|handle| Request::FStat { handle }),
        (bytes(), attributes())
            .prop_map(|(path, attributes)| Request::SetStat { path, attributes }),
        (bytes(), attributes())
            .prop_map(|(handle, attributes)| Request::FSetStat { handle, attributes }),
        bytes().prop_map(|handle| Request::ReadDirectory { handle }),
        (bytes(), attributes())
            .prop_map(|(path, attributes)| Request::MakeDirectory { path, attributes }),
        (bytes(), bytes()).prop_map(|(from, to)| Request::Rename { from, to }),
        (bytes(), bytes()).prop_map(|(target, link)| Request::Symlink { target, link }),
        paths(),
        extensions().prop_map(Request::Extended),
    ]
}

fn paths() -> impl Strategy<Value = Request> {
    let requests: [fn(Vec<u8>) -> Request; 6] = [
        |path| Request::OpenDirectory { path },
        |path| Request::Remove { path },
        |path| Request::RemoveDirectory { path },
        |path| Request::RealPath { path },
        |path| Request::Stat { path },
        |path| Request::ReadLink { path },
    ];
    (prop::sample::select(requests.to_vec()), bytes()).prop_map(|(request, path)| request(path))
}

fn responses() -> impl Strategy<Value = Response> {
    let name = (bytes(), bytes(), attributes()).prop_map(|(path, long, attributes)| Name {
        path,
        long,
        attributes,
    });
    prop_oneof![
        prop::sample::select(vec![
            Status::Ok,
            Status::Eof,
            Status::Failure,
            Status::Unsupported
        ])
        .prop_map(Response::Status),
        bytes().prop_map(Response::Handle),
        bytes().prop_map(Response::Data),
        vec(name, 0..8).prop_map(Response::Names),
        attributes().prop_map(Response::Attributes),
        bytes().prop_map(Response::Extended),
    ]
}

/// Returns a packet without its length, which has to be right.
fn body(packet: &[u8]) -> &[u8] {
    let (length, body) = packet.split_first_chunk().expect("a length");
    assert_eq!(u32::from_be_bytes(*length) as usize, body.len());
    body
}

proptest! {
    #[test]
    fn a_request_is_read_as_it_was_written(request in requests(), id in any::<u32>()) {
        let packet = request.to_packet(id);
        prop_assert_eq!(Request::parse(body(&packet)), Ok((id, request)));
    }

    #[test]
    fn a_response_is_read_as_it_was_written(response in responses(), id in any::<u32>()) {
        let packet = response.to_packet(id);
        prop_assert_eq!(Response::parse(body(&packet)), Ok((id, response)));
    }

    #[test]
    fn a_packet_that_is_cut_is_refused(request in requests(), id in any::<u32>(), cut in 1_usize..64) {
        let packet = request.to_packet(id);
        let body = body(&packet);
        let is_open = matches!(request, Request::Extended(Extension::Unknown));
        prop_assume!(cut < body.len() && !is_open);
        prop_assert!(Request::parse(&body[..body.len() - cut]).is_err());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..512)) {
        if let Ok((id, request)) = Request::parse(&bytes) {
            let packet = request.to_packet(id);
            prop_assert_eq!(Request::parse(body(&packet)), Ok((id, request)));
        }
        let _ = Response::parse(&bytes);
    }
}
