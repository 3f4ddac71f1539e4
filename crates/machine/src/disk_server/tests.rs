use std::process::Command;

use super::*;

/// The environment variable of the process that ends.
const ENDS_VARIABLE: &str = "MSB_TEST_DISK_ENDS";

#[test]
fn a_disk_that_cannot_be_served_ends_the_process_and_says_why() {
    let name = "disk_server::tests::this_process_ends";
    let output = Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(ENDS_VARIABLE, "yes")
        .output()
        .expect("started");
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8_lossy(&output.stderr);
    let reason = "cannot continue to serve the writable disk: its queue is invalid";
    assert!(printed.contains(reason), "{printed}");
}

#[test]
#[ignore = "ends its process, which the test above starts"]
fn this_process_ends() {
    if std::env::var_os(ENDS_VARIABLE).is_some() {
        end_machine("the writable disk", &"its queue is invalid");
    }
}
