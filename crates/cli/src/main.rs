//! `msb`: run any OCI image in a microVM.

mod args;
mod commands;
mod failure;
mod help;
mod last_of;
mod limits;
mod mount_words;
mod output;
mod patience;
mod progress;
mod signals;
mod streams;
mod terminal;
mod words;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use msb_runtime::{Mark, Timeline, TimelineError};

use args::Arguments;
use failure::{EXIT_MSB_FAILED, Outcome};

/// A file to note in how far the start of a sandbox is.
const TIMELINE_VARIABLE: &str = "MSB_TIMELINE";

fn main() -> ExitCode {
    let timeline = timeline();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are what was asked for; anything else is a mistake.
            return if help::print(error) {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(EXIT_MSB_FAILED)
            };
        }
    };
    match run(arguments, timeline) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(arguments: Arguments, timeline: Result<Timeline, TimelineError>) -> Outcome {
    commands::run(arguments, timeline?)
}

/// That of the environment, which begins here.
fn timeline() -> Result<Timeline, TimelineError> {
    let file = std::env::var_os(TIMELINE_VARIABLE).filter(|file| !file.is_empty());
    let timeline = Timeline::open(file.as_deref().map(Path::new))?;
    timeline.mark(Mark::ProcessUp)?;
    Ok(timeline)
}
