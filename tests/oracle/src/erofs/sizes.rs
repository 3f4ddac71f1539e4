use anyhow::Result;

use super::account;
use test_fixtures::build::cargo;
use test_fixtures::command::{quiet, step};

/// Writes images at the limits of sizes and counts, and mounts them. Returns their time and memory.
pub(super) fn run() -> Result<String> {
    let mut command = cargo();
    command
        .args(["test", "--locked", "-p", "erofs-writer", "--test", "erofs"])
        .args(["sizes::oracle_sizes", "--", "--exact"])
        .env("MSB_EROFS_INODES", "1000000");
    step("images at the limits");
    let said = String::from_utf8(quiet(&mut command)?.stdout)?;
    account(&said, "sizes: ")
}
