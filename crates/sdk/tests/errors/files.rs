use msb_patches::CopyPathError;
use msb_agent_protocol::v1::{Failure, FailureKind};
use msb_agent_protocol::{ClientError, Code, TooLong};
use msb_runtime::ConnectError;
use msb_sandbox_files::{CopyError, DisksError, FilesError, Side};
use oci_layers::RawPath;
use tree_archive::UnpackError;

use super::sandboxes::not_running;
use super::{broken, denied, full, missing, web};
use msb_sdk::Error;

pub(super) fn errors() -> Vec<Error> {
    [calls(), files(), copies()].into_iter().flatten().collect()
}

fn path() -> RawPath {
    b"/a"[..].into()
}

fn target<T: std::str::FromStr<Err: std::fmt::Debug>>() -> T {
    "/mnt".parse().expect("a path")
}

fn calls() -> Vec<Error> {
    let refused = |kind: FailureKind| {
        let message = "cannot start it".to_owned();
        ClientError::Refused(Failure { kind: kind.into(), message })
    };
    let files = |code| ClientError::Files { code, message: "cannot open /a".to_owned() };
    let message = || "it is closed".to_owned();
    vec![
        ClientError::Unimplemented { call: "pause" }.into(),
        ClientError::Version { version: 9, oldest: 1, newest: 2 }.into(),
        ClientError::TooLong(TooLong { bytes: 5, limit_bytes: 4 }).into(),
        TooLong { bytes: 5, limit_bytes: 4 }.into(),
        ClientError::Over(Default::default()).into(),
        refused(FailureKind::CommandNotFound).into(),
        refused(FailureKind::CommandNotExecutable).into(),
        refused(FailureKind::BadRequest).into(),
        refused(FailureKind::Guest).into(),
        refused(FailureKind::Paused).into(),
        files(Code::NotFound).into(),
        files(Code::AlreadyExists).into(),
        files(Code::PermissionDenied).into(),
        files(Code::ResourceExhausted).into(),
        files(Code::FailedPrecondition).into(),
        files(Code::InvalidArgument).into(),
        files(Code::Aborted).into(),
        ClientError::Io(denied()).into(),
        ClientError::Io(missing()).into(),
        ClientError::Call { call: "exec", message: message() }.into(),
        ClientError::Silent { call: "exec", message: message() }.into(),
        ClientError::Pause { message: message() }.into(),
        ClientError::OutOfTurn.into(),
    ]
}

fn files() -> Vec<Error> {
    let of_path = |source| FilesError::Path { action: "read", path: path(), source };
    vec![
        FilesError::Guest(ClientError::Files {
            code: Code::NotFound,
            message: "cannot open /a".to_owned(),
        })
        .into(),
        FilesError::Guest(ClientError::Io(denied())).into(),
        FilesError::Reach(not_running()).into(),
        FilesError::Reach(ConnectError::Starting { name: web() }).into(),
        FilesError::Reach(ConnectError::Io { name: web(), source: denied() }).into(),
        FilesError::Reach(ConnectError::Agent { name: web(), source: ClientError::OutOfTurn })
            .into(),
        FilesError::Mounted { path: path(), name: web(), target: target() }.into(),
        FilesError::MountBelow { path: path(), name: web(), target: target() }.into(),
        FilesError::Stopped { name: web() }.into(),
        FilesError::Snapshot { name: web() }.into(),
        FilesError::TooManyNames { path: path(), limit_bytes: 1 }.into(),
        of_path(missing()).into(),
        of_path(denied()).into(),
        of_path(full()).into(),
        of_path(broken()).into(),
        of_path(std::io::ErrorKind::AlreadyExists.into()).into(),
        FilesError::Disks { name: web(), source: DisksError::Io(denied()) }.into(),
        FilesError::Answer { fault: "a NUL".to_owned() }.into(),
        FilesError::BrokenOff.into(),
    ]
}

fn copies() -> Vec<Error> {
    let host = |source| CopyError::Path(CopyPathError::Host { action: "read", path: "/a".into(), source });
    let on = |source| CopyError::On { side: Side::Host, source: Box::new(source) };
    vec![
        host(missing()).into(),
        host(denied()).into(),
        host(broken()).into(),
        on(host(missing())).into(),
        on(CopyError::Unpack(UnpackError::OverFile { path: path() })).into(),
        CopyError::Files(FilesError::Stopped { name: web() }).into(),
        CopyError::Path(CopyPathError::NoDirectory { path: path() }).into(),
        CopyError::Path(CopyPathError::DirectoryOntoFile { path: path() }).into(),
        CopyError::NotDirectory { path: path() }.into(),
        CopyError::Path(CopyPathError::Loop { path: path() }).into(),
        CopyError::Path(CopyPathError::EmptyPath).into(),
        CopyError::Unpack(UnpackError::OverDirectory { path: path() }).into(),
        CopyError::Unpack(UnpackError::File { action: "create", path: path(), source: denied() })
            .into(),
        CopyError::Pack(tree_archive::PackError::Output(full())).into(),
    ]
}
