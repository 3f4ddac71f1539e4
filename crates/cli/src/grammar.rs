//! The command line's grammar as clap's value.

use clap::{Args as _, Command, CommandFactory as _};

use crate::args::Arguments;
use crate::commands::{create, ps, run};

/// Returns every command, with its help in order. In a command that is built late, the global
/// options would come first, before its own headings.
pub(crate) fn ordered() -> Command {
    let command = sandboxes_in_order(Arguments::command());
    command.mut_subcommand("container", sandboxes_in_order)
}

/// Removes the deferred part of a command's construction.
fn at_once(command: Command) -> Command {
    command.defer(|command| command)
}

fn sandboxes_in_order(group: Command) -> Command {
    group
        .mut_subcommand("run", |command| {
            run::Arguments::augment_args(at_once(command))
        })
        .mut_subcommand("create", |command| {
            create::Arguments::augment_args(at_once(command))
        })
        .mut_subcommand("ls", |command| {
            let command = ps::Arguments::augment_args(at_once(command));
            // The option is accepted for compatibility with Docker; `ls` lists all sandboxes
            // anyway.
            command.mut_arg("all", |argument| argument.hide(true))
        })
}
