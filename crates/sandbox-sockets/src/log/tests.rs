use std::process::Command;

use fs_err as fs;
use rustix::process::{Resource, Rlimit, setrlimit};
use tempfile::NamedTempFile;

use super::*;
use crate::long_file;

/// A log, and what was written to it.
fn log() -> (Log, NamedTempFile) {
    let file = NamedTempFile::new().expect("a file");
    (Log::new(file.reopen().expect("opened")), file)
}

fn written(file: &NamedTempFile) -> String {
    fs::read_to_string(file.path()).expect("read")
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_bounded_and_counted() {
    let (log, file) = log();
    (0..1000).for_each(|_| log.line("refused"));
    assert_eq!(written(&file), "msb: refused\n".repeat(64));
    tokio::time::advance(INTERVAL).await;
    log.line("later");
    let later = "msb: 936 lines about sockets were left out\nmsb: later\n";
    assert!(written(&file).ends_with(later));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_refusals_delays_no_signature() {
    let (log, file) = log();
    (0..1000).for_each(|_| log.line("refused"));
    let began = tokio::time::Instant::now();
    for _ in 0..64 {
        log.signature("signed").await.expect("written");
    }
    assert_eq!(began.elapsed(), std::time::Duration::ZERO);
    log.signature("signed").await.expect("written in time");
    assert!(began.elapsed() >= INTERVAL);
    assert_eq!(written(&file).matches("signed").count(), 65);
}

#[tokio::test]
async fn the_sum_of_lines_is_bounded_and_the_last_one_says_so() {
    let file = NamedTempFile::new().expect("a file");
    let log = Log::bounded(file.reopen().expect("opened"), 30, 30);
    for _ in 0..10 {
        log.line("refused");
    }
    log.signature("signed").await.expect("written");
    log.signature("signed").await.expect("written");
    log.signature("signed").await.expect_err("too many");
    let last = "msb: further lines about sockets are left out, but for those of signatures\n";
    let refused = "msb: refused\n".repeat(2);
    let signed = "msb: signed\n".repeat(2);
    assert_eq!(written(&file), format!("{refused}{last}{signed}"));
}

#[tokio::test]
async fn a_line_is_short_and_a_full_disk_is_told() {
    let (log, file) = log();
    log.line(&"é".repeat(1 << 20));
    log.signature("signed").await.expect("written");
    let expected = format!("msb: {}\nmsb: signed\n", "é".repeat(1024));
    assert_eq!(written(&file), expected);
    let full = File::options().write(true).open("/dev/full");
    let log = Log::new(full.expect("opened"));
    log.signature("signed").await.expect_err("a full disk");
}

#[test]
fn a_log_as_long_as_a_file_may_be_ends_no_process() {
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.args(["--exact", "log::tests::at_the_longest_file", "--ignored"]);
    let output = child.output().expect("run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    // A name that matches no test also succeeds, having run nothing.
    assert!(text.contains("1 passed"), "{text}");
}

#[tokio::test]
#[ignore = "limits the files of its process"]
async fn at_the_longest_file() {
    long_file::fail_at_the_limit().expect("the signal is handled");
    let (log, file) = log();
    let limit = Rlimit {
        current: Some(64),
        maximum: Some(64),
    };
    setrlimit(Resource::Fsize, limit).expect("limited");
    for _ in 0..10 {
        log.line("refused");
    }
    log.signature("signed").await.expect_err("too long a file");
    assert!(written(&file).len() <= 64);
}
