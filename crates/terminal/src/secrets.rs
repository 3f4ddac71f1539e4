//! Secrets of a sandbox: listed without values, and values read from standard input or a terminal.

use std::io;
use std::str::FromStr;

use msb_sdk::{InvalidSource, SecretInfo, SecretSource};

use crate::failure::Failure;
use crate::password::{self, Echo};
use crate::signals::Interrupts;
use crate::table::{Elastic, Table};
use crate::{output, terminal};

/// The columns that give way on a narrow terminal.
const ELASTIC: [Elastic; 2] = [Elastic::cut("TO"), Elastic::cut("SOURCE")];

/// The source of a new value, as it is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedSource {
    /// A variable, a file or a command of this host.
    Source(SecretSource),
    /// Standard input: `-`.
    StandardInput,
}

impl FromStr for TypedSource {
    type Err = InvalidSource;

    fn from_str(text: &str) -> Result<Self, InvalidSource> {
        match text {
            "-" => Ok(Self::StandardInput),
            text => match text.parse::<SecretSource>()? {
                // Only a program can give a value.
                SecretSource::Given => Err(InvalidSource::Form),
                source => Ok(Self::Source(source)),
            },
        }
    }
}

/// Reads the value of a secret from standard input; a terminal is asked for it.
///
/// # Errors
/// If standard input cannot be read, or a signal came.
pub async fn read(interrupts: &Interrupts, name: &str) -> Result<String, Failure> {
    if terminal::stdin_is_terminal() {
        password::ask(interrupts, &format!("{name}: "), Echo::Hidden).await
    } else {
        password::from_stdin()
    }
}

/// Prints secrets as a table, or only their names.
///
/// # Errors
/// If standard output cannot be written to.
pub fn print(secrets: &[SecretInfo], is_quiet: bool) -> io::Result<()> {
    if is_quiet {
        let names = secrets.iter().map(|secret| format!("{}\n", secret.name));
        return output::print(&names.collect::<String>());
    }
    let rows: Vec<_> = secrets.iter().map(row).collect();
    let header = ["SECRET", "TO", "SOURCE", "STATE"];
    let table = Table::new(&header, rows.iter().map(<[String; 4]>::as_slice));
    output::print(&table.for_stdout(&ELASTIC))
}

fn row(secret: &SecretInfo) -> [String; 4] {
    [
        secret.name.clone(),
        secret.to.join(","),
        secret.source.clone(),
        secret
            .state
            .map_or_else(|| "-".to_owned(), |state| state.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_typed_as_in_the_option_for_new_sandboxes() {
        let source = |text: &str| text.parse::<TypedSource>();
        assert_eq!(source("-"), Ok(TypedSource::StandardInput));
        let variable = SecretSource::Env("K".to_owned());
        assert_eq!(source("env:K"), Ok(TypedSource::Source(variable)));
        assert_eq!(source("given"), Err(InvalidSource::Form));
        assert!(source("hunter2").is_err());
    }

    #[test]
    fn a_row_has_no_value() {
        let json = r#"{"name": "K", "to": ["a.example", "b.example/v1/*:GET"], "source": "cmd:true", "every_s": null,
            "placement": null, "file": null, "placeholder": null, "state": "expired"}"#;
        let secret: SecretInfo = serde_json::from_str(json).expect("a secret");
        assert_eq!(
            row(&secret),
            ["K", "a.example,b.example/v1/*:GET", "cmd:true", "expired"]
        );
    }
}
