//! `msb`: run any OCI image in a microVM.

mod args;
mod commands;
mod failure;
mod last_of;
mod limits;
mod mount_words;
mod output;
mod progress;
mod streams;
mod terminal;
mod words;

use std::process::ExitCode;

use clap::Parser as _;

use args::Arguments;
use failure::EXIT_MSB_FAILED;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are what was asked for; anything else is a mistake.
            let asked = !error.use_stderr();
            let printed = error.print().is_ok();
            return if asked && printed {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(EXIT_MSB_FAILED)
            };
        }
    };
    match commands::run(arguments) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.exit_code())
        }
    }
}
