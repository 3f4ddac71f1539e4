//! Completion: the words that a shell offers while a command line is typed.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, ValueCompleter};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use image_store::Store;
use msb_runtime::{Home, Sandbox, Volume};

use crate::{commands, help};

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
        Some(Names::ImageAlone) => argument
            .num_args(1)
            .add(ArgValueCompleter::new(Names::ImageAlone)),
        Some(names) => argument.add(ArgValueCompleter::new(names)),
        None => argument,
    });
    command.mut_subcommands(with_names)
}

/// The kind of object that a word of a command names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Sandboxes,
    Images,
    /// An image that may be followed by a command.
    ImageAlone,
    Volumes,
    /// Any object that `msb inspect` accepts.
    All,
}

fn named_by(command: &str, argument: &Arg) -> Option<Names> {
    if !argument.is_positional() {
        return None;
    }
    let value_name = argument.get_value_names()?.first()?;
    match value_name.as_str() {
        "SANDBOX" => Some(Names::Sandboxes),
        "IMAGE" | "NAME[:TAG]" => Some(Names::Images),
        "IMAGE [COMMAND] [ARG]" => Some(Names::ImageAlone),
        "VOLUME" => Some(Names::Volumes),
        "NAME" if command == "inspect" => Some(Names::All),
        _ => None,
    }
}

impl ValueCompleter for Names {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let Some(home) = home() else {
            return Vec::new();
        };
        let names = match self {
            Self::Sandboxes => sandboxes(&home),
            Self::Images | Self::ImageAlone => images(&home),
            Self::Volumes => volumes(&home),
            Self::All => [sandboxes(&home), images(&home), volumes(&home)].concat(),
        };
        let current = current.to_string_lossy();
        let matching = names.into_iter().filter(|name| name.starts_with(&*current));
        matching.map(CompletionCandidate::new).collect()
    }
}

/// Returns the home; `None` if it does not exist, because completion does not create it.
fn home() -> Option<Home> {
    let given = std::env::var_os("MSB_HOME").filter(|home| !home.is_empty());
    let root = given.map(PathBuf::from).or_else(commands::default_home)?;
    root.is_dir().then(|| Home::new(root))
}

// Objects that cannot be read are not offered; the command itself reports the reason.

fn sandboxes(home: &Home) -> Vec<String> {
    let sandboxes = Sandbox::all(home).unwrap_or_default();
    sandboxes
        .into_iter()
        .map(|sandbox| sandbox.spec.name)
        .collect()
}

fn images(home: &Home) -> Vec<String> {
    let images = Store::open(home.root()).ok().map(|store| store.images());
    let images = images.and_then(Result::ok).unwrap_or_default();
    let names = images.into_iter().filter_map(|image| image.reference);
    names.collect()
}

fn volumes(home: &Home) -> Vec<String> {
    let volumes = Volume::all(home).unwrap_or_default();
    let names = volumes.into_iter().flatten();
    names.map(|volume| volume.spec.name.to_string()).collect()
}
