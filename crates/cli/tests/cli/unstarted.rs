//! The remains of a sandbox that could not be started.

use crate::support::{Said, TestHome, host_architecture};

/// Runs `msb` with a guest kernel that does not exist.
fn without_kernel(home: &TestHome, arguments: &[&str]) -> Said {
    let mut command = home.command(arguments);
    command.env("MSB_KERNEL", "/nowhere/libkrunfw.so");
    Said::from_output(&command.output().expect("started"))
}

#[test]
fn a_run_that_fails_leaves_its_name_free() {
    let home = TestHome::new();
    home.load("app", &host_architecture());
    for options in [
        &[][..],
        &["-d"],
        &["--rm"],
        &["-d", "--rm"],
        &["--no-command"],
    ] {
        let run = [&["run", "-q", "--name", "box"], options, &["app"]].concat();
        let said = without_kernel(&home, &run);
        said.assert_refused(&["cannot start the sandbox"]);
        assert_eq!(home.msb(&["ls", "-q"]).stdout, "", "{options:?}");
    }
    // A sandbox that `msb create` made is kept.
    let created = home.msb(&["create", "--name", "box", "app"]);
    assert_eq!(created.code, Some(0), "{}", created.stderr);
    without_kernel(&home, &["start", "-q", "box"]).assert_refused(&["cannot start the sandbox"]);
    assert_eq!(home.msb(&["ls", "-q"]).stdout, created.stdout);
}
