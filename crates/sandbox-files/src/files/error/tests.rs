use std::error::Error as _;

use super::*;

#[test]
fn a_copy_says_which_side_failed_unless_the_error_does() {
    let missing = || CopyPathError::NoDirectory {
        path: (&b"/nodir"[..]).into(),
    };
    let error = CopyError::in_sandbox("box", missing());
    assert_eq!(error.to_string(), "in sandbox box");
    let cause = error.source().map(ToString::to_string);
    assert_eq!(cause, Some(missing().to_string()));
    assert_eq!(CopyError::on_host(missing()).to_string(), "on this host");
    let stopped = || FilesError::Stopped {
        name: "box".to_owned(),
    };
    let error = CopyError::in_sandbox("box", stopped());
    assert_eq!(error.to_string(), stopped().to_string());
}

#[test]
fn what_is_in_the_way_of_a_copy_is_a_path_that_exists() {
    let path = || RawPath::from(&b"a"[..]);
    for error in [
        UnpackError::OverFile { path: path() },
        UnpackError::OverDirectory { path: path() },
    ] {
        let diagnosis = CopyError::Unpack(error).diagnosis();
        assert_eq!(diagnosis.kind(), ErrorKind::PathExists);
        assert_eq!(diagnosis.details(), [("path", "a".to_owned().into())]);
    }
}
