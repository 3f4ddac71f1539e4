//! The most memory of a test that runs alone in a process of its own.

use std::process::Command;

/// The start of the line in which a child tells its peak.
const LINE: &str = "peak ";

/// Runs a test of this program in a child process, with the environment variable `variable` set.
/// Returns the largest resident memory that the test told with [`tell_own_peak`], in bytes.
///
/// # Panics
/// If the test fails or tells nothing.
#[must_use]
pub fn peak_bytes_of_child(test: &str, variable: &str) -> u64 {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([test, "--nocapture"])
        .env(variable, "1")
        .output()
        .expect("run");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}{errors}");
    let peak = told
        .lines()
        .find_map(|line| line.strip_prefix(LINE)?.parse().ok());
    peak.expect("the child tells its peak")
}

/// Prints the largest resident memory of this process for [`peak_bytes_of_child`].
#[expect(clippy::print_stdout, reason = "the parent reads it")]
pub fn tell_own_peak() {
    println!("{LINE}{}", own_peak_bytes());
}

/// Returns the largest resident memory of this process so far, in bytes: `VmHWM` of proc_pid_status(5).
///
/// # Panics
/// If the kernel does not tell it.
#[must_use]
pub fn own_peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    let kibibytes = kibibytes.and_then(|number| number.parse::<u64>().ok());
    kibibytes.expect("the kernel tells the peak") << 10
}
