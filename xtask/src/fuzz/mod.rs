//! The fuzz targets: built once, run side by side, from a corpus that is committed.

mod seeds;
mod target;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::place;
use crate::run::{quiet, shown, step};
use target::{Outcome, Target};

pub(crate) use seeds::write as write_seeds;

/// The version of `cargo-fuzz` that is installed where there is none.
const CARGO_FUZZ: &str = "0.13.2";
/// libFuzzer needs what only nightly has.
const TOOLCHAIN: &str = "+nightly";

/// What to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How long each target runs
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u32,
    /// Only the targets whose name holds this
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// How many run at once
    #[arg(long, default_value_t = 2)]
    pub(crate) jobs: usize,
    /// Write the committed corpus anew instead
    #[arg(long)]
    pub(crate) seed: bool,
}

/// Runs the targets and prints what each did. Fails on any finding.
pub(crate) fn run(arguments: &Arguments) -> Result<String> {
    if arguments.seed {
        return write_seeds(&place::root().join("fuzz/corpus"));
    }
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

/// Builds every target and gives the directory of the programs.
fn build() -> Result<PathBuf> {
    install()?;
    step("build the fuzz targets");
    let directory = place::root().join("target/fuzz");
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

/// Cargo as rustup finds it: not the one that runs this recipe, whose toolchain is pinned.
fn rustup_cargo() -> Command {
    let mut cargo = Command::new("cargo");
    cargo
        .arg(TOOLCHAIN)
        .current_dir(place::root().join("fuzz"))
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .env_remove("RUSTC");
    cargo
}
