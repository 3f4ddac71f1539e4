//! The words of Docker and Podman that msb does not have, and its answer to each.
//!
//! Refused words are not part of the command line's grammar. They are looked up when the grammar
//! does not know a word, so neither help nor completion offers them.

mod commands;
mod guesses;
mod needless;
mod options;
mod values;

use clap::error::{ContextKind, ContextValue, ErrorKind};

pub(crate) use needless::NeedlessOptions;

/// A command of Docker or Podman that msb does not have.
#[derive(Debug, Clone, Copy)]
struct MissingCommand {
    /// The command's words, without the group that Docker also has it in. Groups are `image`,
    /// `container` and `system`.
    words: &'static str,
    /// The complete answer, in one line.
    instead: &'static str,
}

/// Options of Docker or Podman that some commands share.
#[derive(Debug, Clone, Copy)]
struct OptionGroup {
    commands: &'static [&'static str],
    names: &'static [&'static str],
    effect: Effect,
}

/// The effect of an option that was typed.
#[derive(Debug, Clone, Copy)]
enum Effect {
    /// The option is refused; the text names the alternative.
    Refused(&'static str),
    /// The option is accepted and changes nothing; the text gives the reason.
    Needless {
        takes_value: bool,
        why: &'static str,
    },
}

/// Returns the answer to a command or an option that clap does not know. `None` if Docker does not
/// know it either. `words` are those that were typed, and `path` is the command that they led to,
/// such as `image`.
pub(crate) fn answer(error: &clap::Error, path: &str, words: &[String]) -> Option<String> {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = unknown(error, ContextKind::InvalidSubcommand)?;
            let rest = words.iter().skip_while(|typed| **typed != word);
            let typed: Vec<&str> = rest.map(String::as_str).take(2).collect();
            command(path, &typed).or_else(|| guesses::answer(path, &word))
        }
        ErrorKind::UnknownArgument => {
            let name = unknown(error, ContextKind::InvalidArg)?;
            // An option before the command is docker's own.
            let is_first = words.first().is_some_and(|word| *word == name);
            let path = if is_first { "" } else { path };
            option(path, &name).or_else(|| guesses::answer(path, &name))
        }
        ErrorKind::InvalidValue => value(error).or_else(|| help(error, path)),
        ErrorKind::ValueValidation => setting(error),
        _ => None,
    }
}

fn unknown(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    }
}

/// Returns the answer to the command that `typed` begins with, below the command `path`. `None` if
/// msb has no answer.
fn command(path: &str, typed: &[&str]) -> Option<String> {
    if !matches!(path, "" | "image" | "container" | "system") {
        return None;
    }
    let both = typed.join(" ");
    let named = |words: &str| commands::ALL.iter().find(|missing| missing.words == words);
    let missing = named(&both).or_else(|| named(typed.first()?))?;
    Some(missing.instead.to_owned())
}

/// Returns the answer to a refused option of the command `path`. `None` if the option is not
/// refused.
fn option(path: &str, name: &str) -> Option<String> {
    let path = path.strip_prefix("container ").unwrap_or(path);
    let group = options::ALL
        .iter()
        .find(|group| group.commands.contains(&path) && group.names.contains(&name))?;
    match group.effect {
        Effect::Refused(instead) => Some(format!("msb {path} does not support {name}: {instead}")),
        Effect::Needless { .. } => None,
    }
}

/// Returns the answer to a value that an option does not accept. `None` if msb has no answer.
fn value(error: &clap::Error) -> Option<String> {
    let argument = unknown(error, ContextKind::InvalidArg)?;
    let option = argument.split(' ').next()?;
    let typed = unknown(error, ContextKind::InvalidValue)?;
    let missing = values::ALL.iter().find(|missing| {
        missing.option == option
            && (missing.value == typed || missing.is_prefix && typed.starts_with(missing.value))
    })?;
    Some(format!(
        "msb does not support {option} {typed}: {}",
        missing.instead
    ))
}

/// Returns the answer to `-h` of a command that has it for `--hostname`, without a name. `None` for
/// anything else.
fn help(error: &clap::Error, path: &str) -> Option<String> {
    let argument = unknown(error, ContextKind::InvalidArg)?;
    let is_empty = unknown(error, ContextKind::InvalidValue).is_none_or(|typed| typed.is_empty());
    (is_empty && argument.starts_with("--hostname")).then(|| {
        format!("-h is --hostname here, as with docker, and takes a name; msb {path} --help prints the help")
    })
}

/// Returns the answer to a setting of a mount that msb does not have. `None` if msb has no answer.
fn setting(error: &clap::Error) -> Option<String> {
    let argument = unknown(error, ContextKind::InvalidArg)?;
    let option = argument.split(' ').next()?;
    let typed = unknown(error, ContextKind::InvalidValue)?;
    let names: Vec<&str> = match option {
        "--volume" => typed.splitn(3, ':').nth(2)?.split(',').collect(),
        _ => (typed.split(','))
            .filter_map(|pair| pair.split('=').next())
            .collect(),
    };
    let missing = values::SETTINGS
        .iter()
        .filter(|missing| missing.option == option);
    let (name, instead) = missing
        .flat_map(|missing| missing.names.iter().map(|name| (*name, missing.instead)))
        .find(|(name, _)| names.contains(name))?;
    Some(format!(
        "msb does not support {name} in {option} {typed}: {instead}"
    ))
}

#[cfg(test)]
mod tests;
