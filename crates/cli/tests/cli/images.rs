//! The choice of an image, its source, and the errors if it is not available.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Said, TestHome, host_architecture};

/// The address of a registry that does not listen.
const NOBODY: &str = "127.0.0.1:1";

#[test]
fn an_image_for_another_platform_is_pulled_or_refused() {
    let home = TestHome::new();
    let name = format!("{NOBODY}/app");
    home.load(&name, "riscv64");
    let host = format!("linux/{}", host_architecture());
    let both = format!("image '{name}' in the store is for linux/riscv64, not for {host}");
    let wanted = ["create", "--platform", &host];

    let never = [&wanted[..], &["--pull", "never", &name]].concat();
    let refused = home.msb(&never);
    refused.assert_refused(&[&both]);
    refused.assert_hint(&format!("msb pull --platform {host} {name}"));

    let pulled = home.msb(&[&wanted[..], &[&name]].concat());
    pulled.assert_refused(&[&both, "cannot pull", "the connection was refused"]);
    assert_eq!(home.msb(&["ls", "-q"]).stdout, "");
}

#[test]
fn an_image_whose_programs_may_not_run_is_warned_of() {
    let home = TestHome::new();
    home.load("foreign", "riscv64");
    home.load("own", &host_architecture());
    let warned = |arguments: &[&str]| {
        let created = home.msb(arguments);
        assert_eq!(created.code, Some(0), "{}", created.stderr);
        created
            .stderr
            .contains("is for linux/riscv64, but this sandbox is")
    };
    assert!(warned(&["create", "foreign"]));
    assert!(warned(&[
        "create",
        "--platform",
        "linux/riscv64",
        "foreign"
    ]));
    assert!(!warned(&["create", "-q", "foreign"]));
    assert!(!warned(&["create", "own"]));
}

#[test]
fn an_image_that_is_neither_here_nor_there_is_said_in_one_line() {
    let home = TestHome::new();
    let name = format!("{NOBODY}/app");
    let said = home.msb(&["run", &name]);
    said.assert_refused(&[
        &format!("image '{name}' is not in the store: "),
        "the connection was refused",
    ]);
    said.assert_hint("list the images in the store with msb images");
    assert!(!said.stderr.contains("--plain-http"), "{}", said.stderr);
    let never = home.msb(&["run", "--pull", "never", &name]);
    never.assert_refused(&[&format!("image '{name}' is not in the store")]);
}

#[test]
fn an_interrupted_pull_says_what_is_kept() {
    let home = TestHome::new();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let name = format!("{}/app", silent.local_addr().expect("an address"));
    for (subcommand, signal, code) in [("pull", Signal::INT, 130), ("create", Signal::TERM, 143)] {
        let mut command = home.command(&[subcommand, "--plain-http", &name]);
        let pull = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let pull = pull.spawn().expect("started");
        let (mut asking, _) = silent.accept().expect("asked");
        asking.read_exact(&mut [0; 4]).expect("asked");
        let pid = i32::try_from(pull.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process id"), signal).expect("sent");
        let said = Said::from_output(&pull.wait_with_output().expect("ended"));
        assert_eq!(said.code, Some(code), "{}", said.stderr);
        let expected = "msb: interrupted: complete layers are kept";
        assert!(said.stderr.starts_with(expected), "{}", said.stderr);
    }
}
