//! Programs of the test packages, built and run with the arguments of a recipe.

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches};
use test_fixtures::build::cargo;

/// The name of the argument that holds all arguments of a recipe that passes them on.
const ARGUMENTS: &str = "arguments";

/// Lets a recipe take any arguments; its program prints the help.
pub(crate) fn passing_on(recipe: clap::Command) -> clap::Command {
    let arguments = Arg::new(ARGUMENTS)
        .num_args(0..)
        .trailing_var_arg(true)
        .allow_hyphen_values(true);
    recipe.disable_help_flag(true).arg(arguments)
}

/// Runs the lab's program, and returns its exit code.
pub(crate) fn lab(arguments: &ArgMatches) -> Result<ExitCode> {
    ended(&mut lab_command(passed(arguments)))
}

/// Returns the program of the lab with these arguments.
pub(crate) fn lab_command<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = cargo();
    command
        .args(["run", "--quiet", "--locked"])
        .args(["--package", "test-support", "--bin", "lab", "--"])
        .args(arguments)
        // Paths among the arguments are the user's.
        .current_dir(std::env::current_dir().unwrap_or_else(|_| ".".into()));
    command
}

/// Runs the only program of a package, such as the one that builds the guest kernel.
pub(crate) fn package(name: &str, arguments: &ArgMatches) -> Result<ExitCode> {
    let mut command = cargo();
    command
        .args(["run", "--quiet", "--locked"])
        .args(["--package", name, "--"])
        .args(passed(arguments));
    ended(&mut command)
}

/// Checks standard input against a schema.
pub(crate) fn schema(arguments: &ArgMatches) -> Result<ExitCode> {
    let mut command = cargo();
    command
        .args(["test", "--quiet", "--locked"])
        .args([
            "--package",
            "boot",
            "--test",
            "boot-tests",
            "--",
            "--schema",
        ])
        .args(passed(arguments));
    ended(&mut command)
}

/// Runs a command and returns its exit code.
pub(crate) fn ended(command: &mut Command) -> Result<ExitCode> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {command:?}"))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

fn passed(arguments: &ArgMatches) -> impl Iterator<Item = &str> {
    let words = arguments.get_many::<String>(ARGUMENTS);
    words.into_iter().flatten().map(String::as_str)
}
