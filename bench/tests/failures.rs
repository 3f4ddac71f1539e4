//! Runs the program `msb-bench` with an msb that fails.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// An msb that has no image, and notes its arguments.
const MSB: &str = "#!/bin/sh\n\
    echo \"$*\" >>\"$MSB_HOME/calls\"\n\
    [ \"$1\" = create ] || exit 0\n\
    echo \"msb: 'nosuch' is not here\" >&2\n\
    exit 125\n";

#[test]
fn a_missing_image_is_reported_in_one_line_below_msbs_own() {
    let home = tempfile::tempdir().expect("a directory");
    let output = bench(home.path(), &["fs", "--vmm", "qemu", "nosuch"]);
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

#[test]
fn a_staged_directory_that_cannot_be_measured_leaves_no_files() {
    let home = tempfile::tempdir().expect("a directory");
    let size = ["--files", "20", "--mib", "1"];
    let output = bench(
        home.path(),
        &[&["staged", "--host-only"], &size[..]].concat(),
    );
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("msb: 'nosuch' is not here\n"), "{errors}");
    let left: Vec<_> = fs::read_dir(home.path())
        .expect("listed")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left, ["msb"], "its work is removed, its home too");
}

/// Runs a benchmark with such an msb, which lies in the home and works there.
fn bench(home: &Path, words: &[&str]) -> Output {
    let msb = home.join("msb");
    fs::write(&msb, MSB).expect("written");
    fs::set_permissions(&msb, fs::Permissions::from_mode(0o755)).expect("a mode");
    Command::new(env!("CARGO_BIN_EXE_msb-bench"))
        .arg("--msb")
        .arg(&msb)
        .arg("--home")
        .arg(home)
        .args(words)
        .arg("--work")
        .arg(home)
        .output()
        .expect("msb-bench")
}
