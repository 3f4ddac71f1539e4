//! Completion: the words that a shell offers while a command line is typed.

use std::ffi::OsStr;
use std::io;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, ValueCompleter};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use msb_sdk::{Msb, Names};

use crate::help;

/// The environment variable that names the shell that asks.
const VARIABLE: &str = "MSB_COMPLETE";
const PROGRAM: &str = "msb";

/// Answers a shell that asks for completions. Returns true if one did.
///
/// # Errors
/// If the shell is unknown, or cannot be answered.
pub(crate) fn answer() -> clap::error::Result<bool> {
    let directory = std::env::current_dir().ok();
    let completion = CompleteEnv::with_factory(command).var(VARIABLE);
    completion.try_complete(std::env::args_os(), directory.as_deref())
}

/// Returns the script that makes a shell ask for completions.
///
/// # Errors
/// If the shell is unknown.
pub(crate) fn script(shell: Shell) -> io::Result<String> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let completer = shells.completer(&name);
    let completer = completer.ok_or(io::ErrorKind::Unsupported)?;
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Returns the command line's grammar, with completers for the names of objects.
fn command() -> Command {
    let mut command = help::ordered();
    command.build();
    with_names(command)
}

fn with_names(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| match named_by(&name, &argument) {
        // The words behind the image are a command of the guest, which msb cannot complete.
        Some(Completed::ImageAlone) => argument
            .num_args(1)
            .add(ArgValueCompleter::new(Completed::ImageAlone)),
        Some(names) => argument.add(ArgValueCompleter::new(names)),
        None => argument,
    });
    command.mut_subcommands(with_names)
}

/// The kind of object that a word of a command names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completed {
    Sandboxes,
    Images,
    /// An image that may be followed by a command.
    ImageAlone,
    Volumes,
    /// Any object that `msb inspect` accepts.
    All,
}

fn named_by(command: &str, argument: &Arg) -> Option<Completed> {
    if !argument.is_positional() {
        return None;
    }
    let value_name = argument.get_value_names()?.first()?;
    match value_name.as_str() {
        "SANDBOX" => Some(Completed::Sandboxes),
        "IMAGE" | "NAME[:TAG]" => Some(Completed::Images),
        "IMAGE [COMMAND] [ARG]" => Some(Completed::ImageAlone),
        "VOLUME" => Some(Completed::Volumes),
        "NAME" if command == "inspect" => Some(Completed::All),
        _ => None,
    }
}

impl ValueCompleter for Completed {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        // Objects that cannot be read are not offered; the command itself reports the reason.
        let Some(names) = names() else {
            return Vec::new();
        };
        let names = match self {
            Self::Sandboxes => names.sandboxes,
            Self::Images | Self::ImageAlone => names.images,
            Self::Volumes => names.volumes,
            Self::All => [names.sandboxes, names.images, names.volumes].concat(),
        };
        let current = current.to_string_lossy();
        let matching = names.into_iter().filter(|name| name.starts_with(&*current));
        matching.map(CompletionCandidate::new).collect()
    }
}

/// Returns the names of the home's objects; `None` if it does not exist, because completion does not
/// create it.
fn names() -> Option<Names> {
    let msb = Msb::builder().build().ok()?;
    if !msb.home().is_dir() {
        return None;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    runtime.block_on(msb.names()).ok()
}
