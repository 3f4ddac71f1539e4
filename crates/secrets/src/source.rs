use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::{Deserialize, Serialize};

/// Longest name of a variable, path or command, in bytes.
const TEXT_MAX_BYTES: usize = 4096;

/// The source of a secret's value, on the host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SecretSource {
    /// A variable of the environment: `env:NAME`.
    Env(String),
    /// A file: `file:PATH`. `~/` at its beginning is the home directory.
    File(PathBuf),
    /// The output of a command that `sh` runs: `cmd:SHELL`.
    Command(String),
    /// A value that was given with the secret and is not stored: `given`.
    Given,
}

/// The text is not a source.
///
/// The text is not part of the error, because it can be a value that was written in place of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSource {
    /// The text has none of the known forms.
    #[error("the source of a secret is written as env:NAME, file:PATH or cmd:COMMAND")]
    Form,
    /// The text names nothing.
    #[error("{form} names nothing: write env:NAME, file:PATH or cmd:COMMAND")]
    Empty {
        /// The part before the missing text.
        form: &'static str,
    },
    /// The name of the variable cannot be one.
    #[error("env: is not followed by the name of a variable")]
    Variable,
    /// The text is too long, or has a NUL character.
    #[error("the source of a secret is longer than {TEXT_MAX_BYTES} bytes, or contains NUL")]
    Text,
}

impl SecretSource {
    /// Returns true if the source can be read again while a sandbox runs, without its user.
    #[must_use]
    pub const fn is_repeatable(&self) -> bool {
        match self {
            Self::File(_) | Self::Command(_) => true,
            Self::Env(_) | Self::Given => false,
        }
    }

    /// Checks the parts of a source.
    ///
    /// # Errors
    /// An empty part, a variable's name that cannot be one, and a text that is too long.
    pub fn check(&self) -> Result<(), InvalidSource> {
        let (form, text) = match self {
            Self::Env(name) => ("env:", name.as_bytes()),
            Self::File(path) => ("file:", path.as_os_str().as_encoded_bytes()),
            Self::Command(command) => ("cmd:", command.as_bytes()),
            Self::Given => return Ok(()),
        };
        if text.trim_ascii().is_empty() {
            return Err(InvalidSource::Empty { form });
        }
        if text.len() > TEXT_MAX_BYTES || text.contains(&0) {
            return Err(InvalidSource::Text);
        }
        match self {
            Self::Env(name) if name.contains('=') => Err(InvalidSource::Variable),
            _ => Ok(()),
        }
    }
}

impl FromStr for SecretSource {
    type Err = InvalidSource;

    fn from_str(text: &str) -> Result<Self, InvalidSource> {
        let source = match text.split_once(':') {
            Some(("env", name)) => Self::Env(name.to_owned()),
            Some(("file", path)) => Self::File(path.into()),
            Some(("cmd", command)) => Self::Command(command.to_owned()),
            None if text == "given" => Self::Given,
            _ => return Err(InvalidSource::Form),
        };
        source.check()?;
        Ok(source)
    }
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Command(command) => write!(f, "cmd:{command}"),
            Self::Given => f.write_str("given"),
        }
    }
}

impl TryFrom<String> for SecretSource {
    type Error = InvalidSource;

    fn try_from(text: String) -> Result<Self, InvalidSource> {
        text.parse()
    }
}

impl From<SecretSource> for String {
    fn from(source: SecretSource) -> Self {
        source.to_string()
    }
}

impl Diagnose for InvalidSource {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Form | Self::Empty { .. } | Self::Variable | Self::Text => {
                Diagnosis::new(ErrorKind::InvalidArgument)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_written_as_they_are_read() {
        for text in [
            "env:GH_TOKEN",
            "file:/home/me/.k",
            "file:~/.k",
            "cmd:gh auth token",
            "cmd:jq -r '.a,.b' < k:v=1",
            "given",
        ] {
            let source: SecretSource = text.parse().unwrap();
            assert_eq!(source.to_string(), text);
            let json = serde_json::to_string(&source).unwrap();
            assert_eq!(serde_json::from_str::<SecretSource>(&json).unwrap(), source);
        }
    }

    #[test]
    fn other_texts_are_refused_and_not_repeated() {
        let long = format!("cmd:{}", "a".repeat(TEXT_MAX_BYTES + 1));
        for text in [
            "",
            "env",
            "env:",
            "env: ",
            "env:A=hunter22",
            "file:",
            "cmd:",
            "cmd: \t",
            "given:",
            "cmd:hunter22\0",
            "value:hunter22",
            "hunter22",
            "ENV:A",
            "https://hunter22",
            &long,
        ] {
            let error = text.parse::<SecretSource>().expect_err(text);
            assert!(
                !format!("{error} {error:?}").contains("hunter22"),
                "{error}"
            );
        }
    }

    #[test]
    fn files_and_commands_can_be_read_again() {
        let is_repeatable = |text: &str| {
            text.parse()
                .map(|source: SecretSource| source.is_repeatable())
        };
        assert_eq!(is_repeatable("cmd:true"), Ok(true));
        assert_eq!(is_repeatable("file:/k"), Ok(true));
        assert_eq!(is_repeatable("env:A"), Ok(false));
        assert_eq!(is_repeatable("given"), Ok(false));
    }
}
