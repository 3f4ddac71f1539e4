//! Runs a command in the KVM lab and exits with the command's code.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use test_fixtures::command::quiet;
use test_support::lab::{Job, Lab};

/// Run a command in the KVM lab: a guest with emulated AMD-V, where libkrun works
#[derive(Debug, Parser)]
#[command(name = "cargo xtask lab")]
struct Arguments {
    /// A file or directory of the host, and the name under /job that it gets
    #[arg(long = "in", value_name = "PATH[:NAME]")]
    inputs: Vec<String>,
    /// Directory for the files that the job leaves in /job/out
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,
    /// Memory of the lab's machine, in MiB
    #[arg(long, default_value_t = 3072)]
    memory: u32,
    /// Without emulated virtualisation: faster
    #[arg(long)]
    no_kvm: bool,
    /// Command to run
    #[arg(trailing_var_arg = true, required = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

#[expect(clippy::print_stderr, reason = "said to whoever started the lab")]
fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let inputs = arguments
        .inputs
        .iter()
        .map(|input| input_of(input))
        .collect::<Result<_>>()?;
    let job = Job {
        inputs,
        command: arguments.command,
        timeout: Duration::from_secs(arguments.timeout),
        memory_mib: arguments.memory,
        nested: !arguments.no_kvm,
    };
    let outcome = Lab::prepare()?.run(&job)?;
    std::io::stdout().write_all(&outcome.stdout)?;
    std::io::stderr().write_all(&outcome.stderr)?;
    if outcome.outer_starts > 1 {
        eprintln!(
            "the lab's machine was started {} times",
            outcome.outer_starts
        );
    }
    if let Some(out) = arguments.out {
        fs_err::create_dir_all(&out)?;
        let everything = outcome.out.join(".");
        quiet(Command::new("cp").arg("-a").arg(everything).arg(&out))?;
    }
    Ok(ExitCode::from(u8::try_from(outcome.code).unwrap_or(1)))
}

fn input_of(input: &str) -> Result<(PathBuf, String)> {
    let (path, name) = match input.rsplit_once(':') {
        Some((path, name)) => (PathBuf::from(path), name.to_owned()),
        None => {
            let path = PathBuf::from(input);
            let name = path.file_name().context("an input without a name")?;
            let name = name.to_string_lossy().into_owned();
            (path, name)
        }
    };
    Ok((path, name))
}
