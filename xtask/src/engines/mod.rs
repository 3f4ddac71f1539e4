//! Hostile layers against what other engines make of them.
//!
//! `ci/engines` applies every case with the appliers of containerd, moby and umoci, in place and
//! with overlayfs. Where they agree, msb has to agree with them; where all refuse, msb refuses, or
//! the case stands in [`exceptions`] with its reason; where they differ, msb has to be with one of
//! them, or the case stands there too.

mod corpus;
mod exceptions;
mod judgement;
mod msb;
mod program;
mod sequences;
mod third_party;
mod tree;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::{place, tools};
use corpus::Case;
use judgement::{Judgement, Tally};
use program::Program;

/// Seconds that msb may take for one case.
const CASE_S: f64 = 5.0;
/// Memory that msb may take for one case.
const CASE_RSS_MIB: u64 = 150;

/// Which cases to judge.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Only cases whose name holds this
    #[arg(long)]
    pub(crate) case: Option<String>,
    /// Leave out the archives of other projects
    #[arg(long)]
    pub(crate) own: bool,
    /// Judge the archives in this directory's directories too, one for each project
    #[arg(long, value_name = "DIR")]
    pub(crate) archives: Option<PathBuf>,
    /// Judge so many random sequences of layers instead
    #[arg(long)]
    pub(crate) sequences: Option<u64>,
    /// The number of the first sequence
    #[arg(long, default_value_t = 0)]
    pub(crate) first: u64,
    /// Print every case
    #[arg(long)]
    pub(crate) verbose: bool,
}

/// Judges every case, and fails on any that cannot be explained.
pub(crate) fn run(arguments: &Arguments) -> Result<String> {
    tools::install()?;
    if let Some(count) = arguments.sequences {
        return sequences::run(arguments.first, count);
    }
    let mut cases = corpus::hostile();
    cases.extend(
        crate::fidelity::cases()
            .into_iter()
            .map(|(name, layers)| Case::new(format!("fidelity/{name}"), layers)),
    );
    if !arguments.own {
        cases.extend(third_party::cases()?);
    }
    if let Some(directory) = &arguments.archives {
        cases.extend(third_party::gathered(directory)?);
    }
    if let Some(part) = &arguments.case {
        cases.retain(|case| case.name.contains(part));
    }
    ensure!(!cases.is_empty(), "no case has such a name");
    let program = Program::build(&[])?;
    let verdicts = program.judge(&cases)?;
    let bench = msb::Bench::new()?;
    let mut tally = Tally::default();
    for (case, verdicts) in cases.iter().zip(&verdicts) {
        let ours = match bench.verdict(case, &verdicts.diff_ids) {
            Ok(ours) => ours,
            Err(error) => {
                println!("Unseen {}: {error:.300}", case.name);
                tally.add_unseen();
                continue;
            }
        };
        ensure!(
            ours.seconds < CASE_S,
            "{} took {} s, the limit is {CASE_S} s",
            case.name,
            ours.seconds
        );
        ensure!(
            ours.rss_mib < CASE_RSS_MIB,
            "{} took {} MiB, the limit is {CASE_RSS_MIB} MiB",
            case.name,
            ours.rss_mib
        );
        let judgement = Judgement::new(&case.name, verdicts, &ours);
        if arguments.verbose || judgement.is_failure() {
            println!("{judgement}");
        }
        tally.add(&judgement, &ours);
    }
    drop(bench);
    std::fs::remove_dir_all(place::scratch("engines")?)?;
    tally.verdict()
}
