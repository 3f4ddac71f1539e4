//! Every check and test: one build, and then the steps, two at a time.

pub(crate) mod product;
mod queue;
mod ready;
mod steps;

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::{Arg, ArgMatches};
use test_fixtures::command::{shown, step};
use test_fixtures::tools;

use crate::lint;
use ready::Ready;
use steps::{STEPS, Step};

/// Returns the recipe's command line.
pub(crate) fn command() -> clap::Command {
    let only = Arg::new("only")
        .long("only")
        .value_name("WORDS")
        .help("Only the steps whose name holds this, one after the other");
    let one = Arg::new("step")
        .long("step")
        .value_name("NAME")
        .hide(true)
        .conflicts_with("only")
        .help(
            "Only the step of this name, with the files that the process which runs all has made",
        );
    clap::Command::new("test")
        .about("Run every check and test")
        .args([only, one])
}

/// Runs all steps, or those that the arguments choose. Continues after a failed step, and fails at
/// the end. Clippy is the compiler of every build, so none compiles what another one has.
pub(crate) fn run(arguments: &ArgMatches) -> Result<()> {
    if !lint::is_judged() {
        let mut again = Command::new(std::env::current_exe()?);
        return shown(lint::judged(again.args(std::env::args_os().skip(1))));
    }
    if let Some(name) = arguments.get_one::<String>("step") {
        return named(name)?.run(&Ready::passed()?);
    }
    tools::install_for_tests()?;
    if let Some(words) = arguments.get_one::<String>("only") {
        let ready = Ready::make()?;
        let steps = chosen(words)?;
        return one_after_the_other("some", &steps, |step| step.name, |step| step.run(&ready));
    }
    lint::of_sources()?;
    queue::run(STEPS, &Ready::make()?)
}

fn named(name: &str) -> Result<&'static Step> {
    let mut steps = STEPS.iter();
    let step = steps.find(|step| step.name == name);
    step.with_context(|| format!("no step has the name {name:?}"))
}

fn chosen(words: &str) -> Result<Vec<&'static Step>> {
    let chosen: Vec<_> = STEPS
        .iter()
        .filter(|step| step.name.contains(words))
        .collect();
    ensure!(!chosen.is_empty(), "no step has such a name");
    Ok(chosen)
}

/// Runs steps one after the other, and prints each outcome on its own line. Continues after a failed
/// step, and fails at the end.
pub(crate) fn one_after_the_other<T>(
    title: &str,
    steps: &[T],
    name: impl Fn(&T) -> &str,
    run: impl Fn(&T) -> Result<()>,
) -> Result<()> {
    let mut failed = Vec::new();
    for (number, one) in (1..).zip(steps) {
        let name = name(one);
        step(&format!("{title} {number}/{}: {name}", steps.len()));
        let begun = Instant::now();
        let outcome = run(one);
        let seconds = begun.elapsed().as_secs();
        match outcome {
            Ok(()) => println!("ok      {name} ({seconds} s)"),
            Err(error) => {
                failed.push(name);
                println!("FAILED  {name}: {error:#} ({seconds} s)");
            }
        }
    }
    println!(
        "{title}: {} steps passed, {} failed",
        steps.len() - failed.len(),
        failed.len()
    );
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}
