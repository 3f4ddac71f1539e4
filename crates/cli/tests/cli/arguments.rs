//! Arguments that are refused before any work is done.

use crate::support::TestHome;

#[test]
fn what_docker_refuses_is_refused() {
    let home = TestHome::new();
    for (arguments, words) in [
        (
            &["run", "-e", "=x", "app"][..],
            "invalid environment variable '=x'",
        ),
        (
            &["exec", "-e", "=x", "box", "true"],
            "invalid environment variable '=x'",
        ),
        (
            &["create", "-w", "srv", "app"],
            "'srv' is not an absolute path; write /srv",
        ),
        (
            &["exec", "-w", "srv", "box", "pwd"],
            "'srv' is not an absolute path",
        ),
    ] {
        let said = home.msb(arguments);
        assert_eq!(said.code, Some(125), "{arguments:?}: {}", said.stderr);
        assert!(
            said.stderr.contains(words),
            "{arguments:?}: {}",
            said.stderr
        );
    }
}

#[test]
fn a_home_that_cannot_be_used_is_named_with_the_variable_that_sets_another() {
    let home = TestHome::new();
    let file = tempfile::NamedTempFile::new().expect("a file");
    let file = file.path().to_str().expect("text");
    for subcommand in [&["images"][..], &["ps"], &["run", "app"]] {
        let said = home.msb(&[&["--home", file], subcommand].concat());
        said.assert_refused(&[&format!("cannot use {file} as MSB_HOME")]);
    }
    // Not even root can make directories there.
    let unwritable = home.msb(&["--home", "/proc/msb", "images"]);
    unwritable.assert_refused(&["cannot open the store in /proc/msb"]);
    unwritable.assert_hint("set MSB_HOME");
}
