//! The values of secrets, read from their sources on the host.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use diagnosis::{Diagnose, Diagnosis, ErrorKind};

use crate::name::SecretName;
use crate::secret::Secret;
use crate::shown::shown;
use crate::source::SecretSource;
use crate::value::{InvalidValue, SecretValue};

mod command;
mod intake;

#[cfg(test)]
mod tests;

pub use command::CommandError;

/// Limit of a command or of a file that is a pipe, from its start to the end of its output.
pub const SOURCE_TIMEOUT: Duration = Duration::from_secs(30);

/// A secret whose value was read.
#[derive(Debug, Clone)]
pub struct ResolvedSecret {
    /// Name of the secret.
    pub name: SecretName,
    /// The value, which `Debug` does not show.
    pub value: SecretValue,
}

/// The value of a secret cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The variable is not set.
    #[error("cannot get the secret {secret}: the variable {variable} is not set")]
    Variable {
        /// Name of the secret.
        secret: SecretName,
        /// Name of the variable.
        variable: String,
    },
    /// The file cannot be read.
    #[error("cannot get the secret {secret} from the file '{}' on this host", shown(&.path.to_string_lossy()))]
    File {
        /// Name of the secret.
        secret: SecretName,
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The home directory, in which the file is, is not known.
    #[error("cannot get the secret {secret} from the file '{}': the variable HOME is not set", shown(&.path.to_string_lossy()))]
    Home {
        /// Name of the secret.
        secret: SecretName,
        /// Path of the file, which begins with `~`.
        path: PathBuf,
    },
    /// The command failed.
    #[error("cannot get the secret {secret} from the command '{}'", shown(.command))]
    Command {
        /// Name of the secret.
        secret: SecretName,
        /// The command.
        command: String,
        /// The reason.
        source: CommandError,
    },
    /// The source has a text that cannot be a value.
    #[error("cannot get the secret {secret} from {}", described(.from))]
    Value {
        /// Name of the secret.
        secret: SecretName,
        /// The source.
        from: SecretSource,
        /// The reason.
        source: InvalidValue,
    },
    /// The value was given when the sandbox was created, and is not stored.
    #[error("cannot get the secret {secret}: its value was given by a program and is not stored")]
    Given {
        /// Name of the secret.
        secret: SecretName,
    },
}

/// The reason that a source has no value, without the name of the secret.
enum Failure {
    Variable(String),
    File(PathBuf, io::Error),
    Home(PathBuf),
    Command(String, CommandError),
    Value(InvalidValue),
    Given,
}

/// Reads the values of secrets on the host, one after the other.
///
/// A given value is taken unchanged. Of a variable, a file and the output of a command the line's end is cut
/// off. A command is run by `/bin/sh` in the current directory, without input, and its errors go to this
/// process's standard error.
///
/// # Errors
/// The first secret whose value cannot be had, with its source.
pub fn resolve(secrets: &[Secret]) -> Result<Vec<ResolvedSecret>, ResolveError> {
    secrets.iter().map(resolve_one).collect()
}

/// Reads the value of a secret on the host, as [`resolve`] does.
///
/// # Errors
/// A value that cannot be had, with its source.
pub fn resolve_one(secret: &Secret) -> Result<ResolvedSecret, ResolveError> {
    resolve_within(secret, &of_environment, SOURCE_TIMEOUT)
}

fn of_environment(name: &str) -> Option<OsString> {
    env::var_os(name)
}

fn resolve_within(
    secret: &Secret,
    variable: &dyn Fn(&str) -> Option<OsString>,
    timeout: Duration,
) -> Result<ResolvedSecret, ResolveError> {
    let given = secret.value.clone().map(Ok);
    let value = given.unwrap_or_else(|| read(&secret.from, variable, Instant::now() + timeout));
    match value {
        Ok(value) => Ok(ResolvedSecret {
            name: secret.name.clone(),
            value,
        }),
        Err(failure) => Err(failure.of(secret)),
    }
}

fn read(
    from: &SecretSource,
    variable: &dyn Fn(&str) -> Option<OsString>,
    deadline: Instant,
) -> Result<SecretValue, Failure> {
    match from {
        SecretSource::Env(name) => {
            let text = variable(name).ok_or_else(|| Failure::Variable(name.clone()))?;
            let value = intake::value_of(text.as_encoded_bytes());
            value.map_err(Failure::Value)
        }
        SecretSource::File(path) => {
            let full = expanded(path, variable).ok_or_else(|| Failure::Home(path.clone()))?;
            let read = intake::read_file(&full, deadline);
            let intake = read.map_err(|error| Failure::File(path.clone(), error))?;
            intake.value().map_err(Failure::Value)
        }
        SecretSource::Command(command) => {
            let output = command::output(command, deadline);
            let intake = output.map_err(|error| Failure::Command(command.clone(), error))?;
            intake.value().map_err(Failure::Value)
        }
        SecretSource::Given => Err(Failure::Given),
    }
}

/// Returns the path with the home directory in place of `~`; `None` if that is not known.
fn expanded(path: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    match path.strip_prefix("~") {
        Ok(below) => {
            let home = variable("HOME").filter(|home| !home.is_empty())?;
            Some(Path::new(&home).join(below))
        }
        Err(_) => Some(path.to_owned()),
    }
}

impl Failure {
    fn of(self, of: &Secret) -> ResolveError {
        let secret = of.name.clone();
        match self {
            Self::Variable(variable) => ResolveError::Variable { secret, variable },
            Self::File(path, source) => ResolveError::File {
                secret,
                path,
                source,
            },
            Self::Home(path) => ResolveError::Home { secret, path },
            Self::Command(command, source) => ResolveError::Command {
                secret,
                command,
                source,
            },
            Self::Value(source) => ResolveError::Value {
                secret,
                from: of.from.clone(),
                source,
            },
            Self::Given => ResolveError::Given { secret },
        }
    }
}

fn described(from: &SecretSource) -> String {
    match from {
        SecretSource::Env(name) => format!("the variable {}", shown(name)),
        SecretSource::File(path) => format!("the file '{}'", shown(&path.to_string_lossy())),
        SecretSource::Command(command) => format!("the command '{}'", shown(command)),
        SecretSource::Given => "its value".to_owned(),
    }
}

impl Diagnose for ResolveError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Variable { secret, variable } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("name", secret.as_str())
                .hint(format!(
                    "set the variable with export {variable}=VALUE, or name another source with from="
                )),
            Self::File {
                secret,
                path,
                source,
            } => Diagnosis::of_path(source)
                .detail("name", secret.as_str())
                .detail("path", path)
                .hint("check the path of from=file: and its permissions"),
            Self::Home { secret, path } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("name", secret.as_str())
                .detail("path", path)
                .hint("write the whole path of the file"),
            Self::Command { secret, source, .. } => Diagnosis::default()
                .detail("name", secret.as_str())
                .caused_by(source.diagnosis()),
            Self::Value { secret, source, .. } => source
                .diagnosis()
                .detail("name", secret.as_str())
                .hint("a value is one line of text: check what its source contains"),
            Self::Given { secret } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("name", secret.as_str())
                .hint("give the value again, or create the sandbox with a source that can be read at each start"),
        }
    }
}
