//! Completion: the words that a shell offers while a command line is typed.

use std::ffi::OsStr;
use std::io;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, ValueCompleter};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use msb_sdk::{Msb, Names};

/// The environment variable that names the shell that asks.
const VARIABLE: &str = "MSB_COMPLETE";
const PROGRAM: &str = "msb";

/// Answers a shell that asks for completions of this grammar. Returns true if one did.
///
/// # Errors
/// If the shell is unknown, or cannot be answered.
pub(crate) fn answer(grammar: fn() -> Command) -> clap::error::Result<bool> {
    let directory = std::env::current_dir().ok();
    let completion = CompleteEnv::with_factory(|| completed(grammar())).var(VARIABLE);
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

/// Returns the grammar with completers for the names of objects.
fn completed(mut grammar: Command) -> Command {
    grammar.build();
    with_names(grammar)
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
    /// Sandboxes, and behind an `@` their snapshots.
    Snapshots,
    Images,
    /// An image that may be followed by a command.
    ImageAlone,
    Volumes,
    /// Any object that `msb inspect` accepts.
    All,
}

fn named_by(command: &str, argument: &Arg) -> Option<Completed> {
    let value_name = argument.get_value_names()?.first()?.as_str();
    if value_name.starts_with("SANDBOX") && value_name.contains('@')
        || argument.get_long() == Some("base")
    {
        return Some(Completed::Snapshots);
    }
    if !argument.is_positional() {
        return None;
    }
    match value_name {
        "OLD" | "NEW" if command == "diff" => Some(Completed::Snapshots),
        "SANDBOX" => Some(Completed::Sandboxes),
        "IMAGE" | "NAME[:TAG]" => Some(Completed::Images),
        "IMAGE [COMMAND] [ARG]" => Some(Completed::ImageAlone),
        "VOLUME" => Some(Completed::Volumes),
        "NAME" if ["inspect", "history"].contains(&command) => Some(Completed::All),
        _ => None,
    }
}

impl ValueCompleter for Completed {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let current = current.to_string_lossy();
        // Objects that cannot be read are not offered; the command itself reports the reason.
        let found = match current.split_once('@') {
            Some((sandbox, _)) if *self == Self::Snapshots => snapshots(sandbox),
            _ => names().map(|names| self.of(names)),
        };
        let names = found.unwrap_or_default().into_iter();
        let matching = names.filter(|name| name.starts_with(&*current));
        matching.map(CompletionCandidate::new).collect()
    }
}

impl Completed {
    fn of(self, names: Names) -> Vec<String> {
        match self {
            Self::Sandboxes | Self::Snapshots => names.sandboxes,
            Self::Images | Self::ImageAlone => names.images,
            Self::Volumes => names.volumes,
            Self::All => [names.sandboxes, names.images, names.volumes].concat(),
        }
    }
}

/// Returns the names of the home's objects; `None` if it does not exist, because completion does not
/// create it.
fn names() -> Option<Names> {
    asked(async |msb| msb.names().await.ok())
}

/// Returns the full names of a sandbox's snapshots; `None` if they cannot be read.
fn snapshots(sandbox: &str) -> Option<Vec<String>> {
    asked(async |msb| {
        let found = msb.sandboxes().get(sandbox).await.ok()?;
        let snapshots = found.snapshots().list().await.ok()?.into_iter();
        Some(
            snapshots
                .map(|snapshot| format!("{sandbox}@{}", snapshot.name))
                .collect(),
        )
    })
}

/// Asks the home for something, if it exists.
fn asked<T>(ask: impl AsyncFnOnce(Msb) -> Option<T>) -> Option<T> {
    let msb = Msb::builder().build().ok()?;
    if !msb.home().is_dir() {
        return None;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    runtime.block_on(ask(msb))
}
