//! The answers to words of Docker and Podman that the command line's grammar does not know.

mod needless;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use docker_words::{commands, guesses, options, values};

pub(crate) use needless::NeedlessOptions;

/// Returns the answer to a command or an option that clap does not know. `None` if Docker does not
/// know it either. `words` are those that were typed, and `path` is the command that they led to,
/// such as `image`.
pub(crate) fn answer(error: &clap::Error, path: &str, words: &[String]) -> Option<String> {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = unknown(error, ContextKind::InvalidSubcommand)?;
            let rest = words.iter().skip_while(|typed| **typed != word);
            let typed: Vec<&str> = rest.map(String::as_str).take(2).collect();
            let answer = commands::answer(path, &typed).or_else(|| guesses::answer(path, &word))?;
            Some(answer.to_owned())
        }
        ErrorKind::UnknownArgument => {
            let name = unknown(error, ContextKind::InvalidArg)?;
            // An option before the command is docker's own.
            let is_first = words.first().is_some_and(|word| *word == name);
            let path = if is_first { "" } else { path };
            let guess = || guesses::answer(path, &name).map(str::to_owned);
            options::answer(path, &name).or_else(guess)
        }
        ErrorKind::InvalidValue => {
            let answer = refused(error, values::answer);
            answer.or_else(|| help(error, path))
        }
        ErrorKind::ValueValidation => refused(error, values::setting_answer),
        _ => None,
    }
}

fn unknown(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    }
}

/// Returns the answer to a value that an option does not accept. `None` if msb has no answer.
fn refused(error: &clap::Error, answer: fn(&str, &str) -> Option<String>) -> Option<String> {
    let argument = unknown(error, ContextKind::InvalidArg)?;
    let option = argument.split(' ').next()?;
    let typed = unknown(error, ContextKind::InvalidValue)?;
    answer(option, &typed)
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

#[cfg(test)]
mod tests;
