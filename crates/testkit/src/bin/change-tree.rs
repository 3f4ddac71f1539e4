//! Changes directories at random, and prints the whole file system as `tree-dump` does.
//!
//! Standard input has a line `FIRST COUNT CHANGES`: the directory `/cases/N` gets `CHANGES` changes
//! that follow from the seed `FIRST + N`, for each `N` below `COUNT`. Where `N` is odd, no device is
//! made. How many changes of each kind
//! were made is printed to standard error.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use testkit::{RandomChanges, TreeDump};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If this fails too, there is no channel left to report it.
            let _ = writeln!(std::io::stderr(), "change-tree: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut line = String::new();
    std::io::stdin().read_to_string(&mut line)?;
    let numbers: Vec<u64> = line
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let [first, count, changes] = numbers[..] else {
        return Err("standard input must be: FIRST COUNT CHANGES".into());
    };
    let mut made: BTreeMap<&str, u32> = BTreeMap::new();
    for number in 0..count {
        let root = format!("/cases/{number}");
        let mut sequence = RandomChanges::new(first + number);
        if number % 2 == 1 {
            sequence = sequence.without_devices();
        }
        for _ in 0..changes {
            sequence.make(Path::new(&root));
        }
        for (kind, count) in sequence.made() {
            *made.entry(kind).or_default() += count;
        }
    }
    for (kind, count) in made {
        writeln!(std::io::stderr(), "{kind} {count}")?;
    }
    write!(
        std::io::stdout(),
        "{}",
        TreeDump::from_directory(Path::new("/"))?
    )?;
    Ok(())
}
