//! Runs the fuzz targets side by side, from a corpus that is committed.

mod target;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use clap::{Arg, ArgAction, ArgMatches};
use test_fixtures::build::cargo;
use test_fixtures::command::{quiet, shown, step};
use test_fixtures::paths;

use target::{Outcome, Target};

/// The version of `cargo-fuzz` that is installed if there is none.
const CARGO_FUZZ: &str = "0.13.2";
/// libFuzzer needs features that only nightly has.
const TOOLCHAIN: &str = "+nightly";

/// The options of a run.
struct Arguments {
    seconds: u32,
    /// A part of the targets' names.
    target: Option<String>,
    jobs: usize,
}

/// Returns the recipe's command line.
pub(crate) fn command() -> clap::Command {
    let option = |name, help, default| {
        let option = Arg::new(name).long(name).help(help).default_value(default);
        option.value_parser(clap::value_parser!(u32))
    };
    let target = Arg::new("target")
        .long("target")
        .help("Only the targets whose name holds this");
    let seed = Arg::new("seed")
        .long("seed")
        .help("Write the committed corpus anew instead")
        .action(ArgAction::SetTrue);
    clap::Command::new("fuzz")
        .about("Run the fuzz targets")
        .arg(option("seconds", "How long each target runs", "60"))
        .arg(option("jobs", "How many run at once", "2"))
        .args([target, seed])
}

/// Runs the targets and prints the outcome of each. Fails on any finding.
pub(crate) fn run(matches: &ArgMatches) -> Result<()> {
    if matches.get_flag("seed") {
        return shown(cargo().args(["run", "--quiet", "--locked"]).args([
            "--package",
            "oracle",
            "--bin",
            "fuzz-seeds",
        ]));
    }
    let number = |name| matches.get_one::<u32>(name).copied().unwrap_or(1);
    let arguments = Arguments {
        seconds: number("seconds"),
        target: matches.get_one("target").cloned(),
        jobs: usize::try_from(number("jobs"))?,
    };
    println!("{}", run_targets(&arguments)?);
    Ok(())
}

fn run_targets(arguments: &Arguments) -> Result<String> {
    let programs = build()?;
    let targets: Vec<Target> = Target::all(&programs)?
        .into_iter()
        .filter(|target| {
            let wanted = arguments.target.as_deref();
            wanted.is_none_or(|part| target.name.contains(part))
        })
        .collect();
    ensure!(!targets.is_empty(), "no target has such a name");
    let outcomes = run_all(&targets, arguments)?;
    let executions: u64 = outcomes.iter().map(|outcome| outcome.executions).sum();
    let found: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.failed).collect();
    for outcome in &found {
        println!("{}", outcome.report);
    }
    ensure!(found.is_empty(), "{} targets found something", found.len());
    Ok(format!(
        "{} targets, {} s each, {executions} executions, no findings",
        outcomes.len(),
        arguments.seconds
    ))
}

/// Runs targets, `jobs` at a time, in their order.
fn run_all(targets: &[Target], arguments: &Arguments) -> Result<Vec<Outcome>> {
    let next = std::sync::Mutex::new(targets.iter());
    let take = || next.lock().ok().and_then(|mut targets| targets.next());
    let worker = || -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        while let Some(target) = take() {
            let outcome = target.run(arguments.seconds)?;
            println!("{outcome}");
            outcomes.push(outcome);
        }
        Ok(outcomes)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..arguments.jobs.max(1))
            .map(|_| scope.spawn(worker))
            .collect();
        let mut outcomes = Vec::new();
        for worker in workers {
            outcomes.extend(worker.join().expect("a worker does not panic")?);
        }
        Ok(outcomes)
    })
}

/// Builds every target and returns the directory of the programs.
fn build() -> Result<PathBuf> {
    install()?;
    step("build the fuzz targets");
    let directory = paths::root().join("target/fuzz");
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    shown(
        rustup_cargo()
            .args(["fuzz", "build", "--release", "--target", &host])
            .arg("--target-dir")
            .arg(&directory),
    )?;
    Ok(directory.join(host).join("release"))
}

fn install() -> Result<()> {
    let toolchains = quiet(Command::new("rustup").args(["toolchain", "list"]))?;
    if !String::from_utf8_lossy(&toolchains.stdout).contains("nightly") {
        step("install a nightly toolchain");
        shown(Command::new("rustup").args([
            "toolchain",
            "install",
            "nightly",
            "--profile",
            "minimal",
        ]))?;
    }
    if quiet(rustup_cargo().args(["fuzz", "--version"])).is_err() {
        step("install cargo-fuzz");
        shown(rustup_cargo().args(["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ]))?;
    }
    Ok(())
}

/// Returns cargo as rustup finds it: the one that runs this recipe has a pinned toolchain.
fn rustup_cargo() -> Command {
    let mut cargo = Command::new("cargo");
    cargo
        .arg(TOOLCHAIN)
        .current_dir(paths::root().join("fuzz"))
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .env_remove("RUSTC");
    cargo
}
