//! Jails put on a process, and attempts at everything that they must not allow.
//!
//! A jail cannot be undone, so each test does its work in a child process: this program again, with
//! one of the ignored tests of [`child`].

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod child;

use std::path::Path;
use std::process::{Command, Output};

/// Runs a test of [`child`] in its own process.
fn run(name: &str, directory: &Path) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("child::{name}"),
            "--ignored",
            "--nocapture",
        ])
        .env(child::DIRECTORY_VARIABLE, directory)
        .output()
        .unwrap()
}

fn passes(name: &str) {
    let directory = tempfile::tempdir().unwrap();
    let output = run(name, directory.path());
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{error}");
    // A name that matches no test also succeeds, having run nothing.
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
fn a_supervisor_has_its_files_and_nothing_else() {
    passes("supervisor");
}

#[test]
fn a_network_has_its_connections_and_nothing_else() {
    passes("network");
}

#[test]
fn a_process_of_sockets_has_its_connections_and_nothing_else() {
    passes("sockets");
}

#[test]
fn a_vmm_has_its_files_and_nothing_else() {
    passes("vmm");
}

#[test]
fn a_share_has_its_directory_and_nothing_else() {
    passes("share");
}

#[test]
fn a_starter_starts_its_program_and_no_other() {
    passes("starter");
}

#[test]
fn what_a_program_inherits_is_as_narrow() {
    passes("inherited");
}

#[test]
fn calls_that_are_newer_than_their_names_are_refused_too() {
    passes("newer_calls");
}

#[test]
fn a_jail_that_is_put_on_later_keeps_no_child_alive() {
    let directory = tempfile::tempdir().unwrap();
    let output = run("parent_of_one_that_dies_with_it", directory.path());
    let pid = std::fs::read_to_string(directory.path().join("written")).unwrap();
    let pid: u32 = pid.parse().unwrap_or_else(|_| panic!("{output:?}"));
    let command = || std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while command().contains("sleep") {
        assert!(std::time::Instant::now() < deadline, "{pid} lives");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_file_that_is_read_is_not_written_and_a_directory_that_is_kept_has_no_links() {
    passes("accesses");
}

#[test]
fn whoever_renounces_has_no_privileges_cores_and_higher_limits() {
    passes("renounced");
}

#[test]
fn a_process_is_ended_at_its_longest_file() {
    use std::os::unix::process::ExitStatusExt as _;
    let directory = tempfile::tempdir().unwrap();
    let output = run("too_long_a_file", directory.path());
    // SIGXFSZ
    assert_eq!(output.status.signal(), Some(25), "{output:?}");
    let length = directory.path().join("long").metadata().unwrap().len();
    assert_eq!(length, child::LONGEST_FILE_BYTES);
    assert!(!output.status.core_dumped());
}

#[test]
fn no_process_is_traced_or_signalled_from_inside() {
    passes("other_processes");
}

#[test]
fn without_a_jail_everything_is_done() {
    passes("nothing_put_on");
}

#[test]
fn a_missing_file_is_named_and_nothing_runs() {
    passes("missing_file");
}

#[test]
fn the_host_of_these_tests_has_every_layer() {
    let report = msb_jail::survey();
    let lacking: Vec<_> = report.lacking().map(ToString::to_string).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}

#[test]
fn descriptors_left_by_mistake_are_closed() {
    passes("stray_descriptors");
}
