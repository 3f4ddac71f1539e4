use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context as _, anyhow};

use super::Context;
use msb_terminal::failure::Outcome;

/// The benchmark program, in the same directory as msb.
const PROGRAM: &str = "msb-bench";

// Arguments of `msb bench`: they are the program's own, its `--help` included.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:\n  \
    msb bench --help                    the benchmarks\n  \
    msb bench boot alpine               time from the command to the sandbox's first output\n  \
    msb bench fs --help                 the options of a benchmark"
)]
pub(crate) struct Arguments {
    /// A benchmark and its options
    #[arg(
        value_name = "BENCHMARK",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

/// Executes the benchmark program in place of this process. Returns only if that fails.
pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let msb = std::env::current_exe().context("cannot find the path of the program msb")?;
    let program = msb.with_file_name(PROGRAM);
    if !program.is_file() {
        return Err(anyhow!(
            "msb bench needs the program {PROGRAM} next to msb, and {} is missing; build it with \
             cargo build --release --package {PROGRAM}",
            program.display()
        )
        .into());
    }
    let error = Command::new(&program)
        .arg("--msb")
        .arg(&msb)
        .arg("--home")
        .arg(context.home.root())
        .args(&arguments.words)
        .exec();
    Err(anyhow::Error::new(error)
        .context(format!("cannot run {}", program.display()))
        .into())
}
