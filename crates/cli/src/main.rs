//! `msb`: run any OCI image in a microVM.

mod args;
mod commands;
mod completion;
mod dispatch;
mod docker;
mod environment;
mod help;
mod internal;
mod layer_compression;
mod limits;
mod man_pages;
mod memory_limit;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use args::Arguments;
use clap::Parser as _;
use msb_machine_records::{Mark, Timeline, TimelineError};
use msb_terminal::failure::{EXIT_MSB_FAILED, Failure};

/// The environment variable that names a file for the timeline of a start.
const TIMELINE_VARIABLE: &str = "MSB_TIMELINE";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words
        .next()
        .is_some_and(|word| word == internal::QEMU_COMMAND)
    {
        return become_qemu(words);
    }
    if internal::is_internal(std::env::args_os().skip(1)) {
        // The client that starts such a process may be a library in any program.
        msb_jail::close_inherited_descriptors();
    }
    match completion::answer(args::ordered) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => {
            help::print(error, &args::ordered());
            return ExitCode::from(EXIT_MSB_FAILED);
        }
    }
    let timeline = timeline();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version were asked for; anything else is a mistake.
            return if help::print(error, &args::ordered()) {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(EXIT_MSB_FAILED)
            };
        }
    };
    let timeline = timeline.map_err(Failure::from);
    match timeline.and_then(|timeline| dispatch::run(arguments, timeline)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Becomes QEMU. Returns only if that fails.
fn become_qemu(words: impl Iterator<Item = OsString>) -> ExitCode {
    let error = msb_vmm_qemu::become_program(words);
    Failure::from(anyhow::Error::new(error).context("cannot start QEMU")).print();
    ExitCode::from(EXIT_MSB_FAILED)
}

/// Opens the timeline that the environment names, and marks the start of this process in it.
fn timeline() -> Result<Timeline, TimelineError> {
    let file = std::env::var_os(TIMELINE_VARIABLE).filter(|file| !file.is_empty());
    let timeline = Timeline::open(file.as_deref().map(Path::new))?;
    timeline.mark(Mark::ProcessUp)?;
    Ok(timeline)
}
