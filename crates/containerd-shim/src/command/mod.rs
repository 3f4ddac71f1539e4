//! The commands of a shim's program: `start`, `delete`, `-info`, `-v`, and `serve`, which `start` runs.

mod address;
mod answer;
mod arguments;
mod bootstrap;
mod delete;
mod error;
mod info;
mod serve;
mod start;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

pub use error::CommandError;

use crate::Shim;
use arguments::{Action, Arguments};

/// The most bytes of the input that containerd gives to a command.
const INPUT_MAX_BYTES: u64 = 4 << 20;

/// Runs the program of a shim with the arguments of its process. An error is printed to standard error, which
/// containerd puts into its own.
pub fn run(shim: &impl Shim) -> ExitCode {
    let outcome = run_with(shim, std::env::args_os().skip(1));
    let outcome = outcome.and_then(|output| {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(&output).and_then(|()| stdout.flush());
        written.map_err(CommandError::io("write the answer"))
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nowhere else to report to.
            let _ = writeln!(io::stderr(), "{}: {}", shim.name(), chain(&error));
            ExitCode::FAILURE
        }
    }
}

fn run_with(
    shim: &impl Shim,
    arguments: impl Iterator<Item = OsString>,
) -> Result<Vec<u8>, CommandError> {
    let arguments = Arguments::parse(arguments)?;
    match arguments.action {
        Action::Version => Ok(format!("{} {}\n", shim.name(), shim.version()).into_bytes()),
        Action::Info => Ok(info::info(shim)),
        Action::Start => start::start(shim, arguments, &input()?),
        Action::Serve => serve::serve(shim, &arguments).map(|()| Vec::new()),
        Action::Delete => delete::delete(shim, &arguments),
    }
}

/// Reads standard input.
fn input() -> Result<Vec<u8>, CommandError> {
    let mut input = Vec::new();
    let read = io::stdin()
        .lock()
        .take(INPUT_MAX_BYTES + 1)
        .read_to_end(&mut input);
    read.map_err(CommandError::io("read standard input"))?;
    if u64::try_from(input.len()).is_ok_and(|length| length <= INPUT_MAX_BYTES) {
        return Ok(input);
    }
    Err(CommandError::InputTooLong {
        limit_bytes: INPUT_MAX_BYTES,
    })
}

/// Returns an error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
