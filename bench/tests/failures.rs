//! Runs the program `msb-bench` with an msb that fails.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// An msb that has no image, and notes its arguments.
const MSB: &str = "#!/bin/sh\n\
    echo \"$*\" >>\"$MSB_HOME/calls\"\n\
    [ \"$1\" = create ] || exit 0\n\
    echo \"msb: 'nosuch' is not here\" >&2\n\
    exit 125\n";

#[test]
fn a_missing_image_is_reported_in_one_line_below_msbs_own() {
    let home = tempfile::tempdir().expect("a directory");
    let msb = home.path().join("msb");
    fs::write(&msb, MSB).expect("written");
    fs::set_permissions(&msb, fs::Permissions::from_mode(0o755)).expect("a mode");
    let output = Command::new(env!("CARGO_BIN_EXE_msb-bench"))
        .arg("--msb")
        .arg(&msb)
        .arg("--home")
        .arg(home.path())
        .args(["fs", "--vmm", "qemu", "--work"])
        .arg(home.path())
        .arg("nosuch")
        .output()
        .expect("msb-bench");
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "msb: 'nosuch' is not here\n\
         msb bench: msb create ended with exit status: 125; see its message above\n"
    );
    let calls = fs::read_to_string(home.path().join("calls")).expect("calls");
    assert!(calls.starts_with("create --quiet"), "{calls}");
}
