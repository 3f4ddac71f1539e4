//! EROFS images through every reader there is: the corpus of `crates/erofs-writer/tests`, with
//! readers that have to be fetched or built first, and as many trees as asked for.

mod readers;
mod sizes;

use anyhow::{Context as _, Result, ensure};

use crate::build::cargo;
use crate::run::{quiet, step};

/// What to read, and with what.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// How many random trees
    #[arg(long, default_value_t = 200)]
    pub(crate) trees: u64,
    /// The number of the first: a number is a seed
    #[arg(long, default_value_t = 0)]
    pub(crate) first: u64,
    /// Only the readers that are installed: no newer erofs-utils, no go-erofs
    #[arg(long)]
    pub(crate) installed: bool,
    /// Write and mount images at the limits of sizes and counts instead
    #[arg(long)]
    pub(crate) sizes: bool,
}

/// Runs what was asked for and prints what it found.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let found = if arguments.sizes {
        sizes::run()?
    } else {
        corpus(arguments)?
    };
    println!("{found}");
    Ok(())
}

/// Writes the trees and compares what the readers see. Gives the test's own account.
pub(crate) fn corpus(arguments: &Arguments) -> Result<String> {
    let mut command = cargo();
    command
        .args(["test", "--locked", "-p", "erofs-writer", "--test", "erofs"])
        .args(["corpus::oracle_corpus_agrees", "--", "--exact"])
        .env("MSB_EROFS_TREES", arguments.trees.to_string())
        .env("MSB_EROFS_FIRST", arguments.first.to_string());
    if !arguments.installed {
        let roots = readers::newer_utils()?;
        command.env("MSB_EROFS_UTILS", std::env::join_paths(roots)?);
        if let Some(program) = readers::go_erofs()? {
            command.env("MSB_GO_EROFS", program);
        }
    }
    step("random trees through every reader");
    let said = String::from_utf8(quiet(&mut command)?.stdout)?;
    account(&said, "readers: ")
}

/// The lines between the harness's own, up to the one that begins with `last`.
fn account(said: &str, last: &str) -> Result<String> {
    let lines: Vec<&str> = said
        .lines()
        .skip_while(|line| !line.starts_with("running"))
        .skip(1)
        .filter(|line| !line.starts_with("test ") && !line.starts_with("so far: "))
        .filter(|line| !line.is_empty())
        .collect();
    let end = lines.iter().position(|line| line.starts_with(last));
    let end = end.with_context(|| format!("the test gave no account: {said}"))?;
    ensure!(said.contains("1 passed"), "not one test ran: {said}");
    Ok(lines[..=end].join("\n"))
}
