use std::process::{Command, Output};

use super::*;

#[test]
fn variables_are_bounded() {
    let mut session = Session::default();
    for number in 0..VARIABLES_MAX {
        assert!(session.set_variable(&format!("V{number}"), "x"));
    }
    assert!(!session.set_variable("ONE_MORE", "x"));
    assert!(session.set_variable("V1", "another value"));
    assert!(!session.set_variable("V1", &"x".repeat(VARIABLES_MAX_BYTES)));
    for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "\0")] {
        assert!(!session.set_variable(name, value), "{name:?}");
    }
}

#[test]
fn a_terminal_of_unknown_size_has_the_usual_one() {
    assert_eq!(terminal_size(0, 0), TerminalSize { rows: 24, cols: 80 });
    let largest = TerminalSize {
        rows: 50,
        cols: u16::MAX,
    };
    assert_eq!(terminal_size(1 << 20, 50), largest);
}

#[test]
fn a_command_is_one_word_for_the_shell_of_its_user() {
    let options = Session::default().command("dev", Some(b"echo \"$1\"; ls *"));
    assert_eq!(options.user.as_deref(), Some("dev"));
    assert_eq!(options.argv.len(), 6);
    assert_eq!(options.argv[5], Text::from("echo \"$1\"; ls *"));
    assert_eq!(Session::default().command("dev", None).argv.len(), 5);
}

/// Runs the login of the host's root.
fn log_in(user: &str, command: &str) -> Output {
    let words = ["-c", LOGIN, "sh", user, command];
    Command::new("/bin/sh").args(words).output().expect("run")
}

#[test]
fn the_login_finds_the_home_and_the_shell_of_its_user() {
    let print = "printf '%s|%s|%s' \"$HOME\" \"$USER\" \"$LOGNAME\"; exit 7";
    let root = log_in("root", print);
    assert_eq!(String::from_utf8_lossy(&root.stdout), "/root|root|root");
    assert_eq!(root.status.code(), Some(7));
    assert_eq!(log_in("0:0", print).stdout, root.stdout);
    let nobody = log_in("no-such-user", "echo \"$SHELL $USER\"");
    assert_eq!(nobody.stdout, b"/bin/sh no-such-user\n");
}
