use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::ports::ports;
use super::words::{Word, line, words};
use super::{ChildConfigError, list, object};

/// A change of an image's instructions for running it, in the syntax of a Dockerfile: `ENV A=1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    text: String,
    change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    Cmd(Vec<String>),
    Entrypoint(Vec<String>),
    Env(Vec<(Word, Word)>),
    Expose(Vec<Word>),
    Label(Vec<(Word, Word)>),
    User(Word),
    Volume(Vec<Word>),
    WorkingDirectory(Word),
    StopSignal(Word),
}

/// The text is not an [`Instruction`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not an instruction: {reason}")]
pub struct InvalidInstruction {
    text: String,
    reason: String,
}

impl InvalidInstruction {
    fn new(text: &str, reason: impl Into<String>) -> Self {
        Self {
            text: crate::excerpt(text),
            reason: reason.into(),
        }
    }
}

impl FromStr for Instruction {
    type Err = InvalidInstruction;

    fn from_str(text: &str) -> Result<Self, InvalidInstruction> {
        match change(text.trim()) {
            Ok(change) => Ok(Self {
                text: text.trim().to_owned(),
                change,
            }),
            Err(reason) => Err(InvalidInstruction::new(text, reason)),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn change(text: &str) -> Result<Change, String> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let name = name.to_ascii_uppercase();
    if rest.is_empty() {
        return Err(format!("{name} needs a value"));
    }
    match &name[..] {
        "CMD" => Ok(Change::Cmd(command(rest))),
        "ENTRYPOINT" => Ok(Change::Entrypoint(command(rest))),
        "ENV" => pairs(rest).map(Change::Env),
        "LABEL" => pairs(rest).map(Change::Label),
        "EXPOSE" => words(rest).map(Change::Expose),
        "VOLUME" => paths(rest).map(Change::Volume),
        "USER" => one(rest).map(Change::User),
        "WORKDIR" => line(rest).map(Change::WorkingDirectory),
        "STOPSIGNAL" => one(rest).map(Change::StopSignal),
        _ => Err(
            "use CMD, ENTRYPOINT, ENV, EXPOSE, LABEL, USER, VOLUME, WORKDIR or STOPSIGNAL"
                .to_owned(),
        ),
    }
}

/// Returns a command: a list in JSON, or a line for the shell.
fn command(text: &str) -> Vec<String> {
    let list = serde_json::from_str(text);
    list.unwrap_or_else(|_| ["/bin/sh", "-c", text].map(str::to_owned).to_vec())
}

fn one(text: &str) -> Result<Word, String> {
    let mut words = words(text)?.into_iter();
    match (words.next(), words.next()) {
        (Some(word), None) => Ok(word),
        _ => Err("it takes one value".to_owned()),
    }
}

/// Returns paths: a list in JSON, or words.
fn paths(text: &str) -> Result<Vec<Word>, String> {
    match serde_json::from_str::<Vec<String>>(text) {
        Ok(list) => list.iter().map(|path| line(path)).collect(),
        Err(_) => words(text),
    }
}

/// Returns pairs: `NAME=VALUE` several times, or one `NAME VALUE`.
fn pairs(text: &str) -> Result<Vec<(Word, Word)>, String> {
    let words = words(text)?;
    let is_old_form = words.first().is_some_and(|word| word.pair().is_none());
    if is_old_form {
        let (name, value) = text
            .split_once(char::is_whitespace)
            .ok_or_else(|| "write NAME=VALUE".to_owned())?;
        return Ok(vec![(line(name)?, line(value.trim_start())?)]);
    }
    let pairs = words.iter().map(Word::pair);
    let pairs: Option<Vec<_>> = pairs.collect();
    let has_no_name = |(name, _): &(Word, Word)| name.is_empty();
    if pairs.iter().flatten().any(has_no_name) {
        return Err("a name is empty".to_owned());
    }
    pairs.ok_or_else(|| "write NAME=VALUE for every value".to_owned())
}

/// Applies changes to the instructions of a config.
pub(super) fn apply(
    instructions: &[Instruction],
    config: &mut Map<String, Value>,
) -> Result<(), ChildConfigError> {
    let sets_command = |instruction: &Instruction| matches!(instruction.change, Change::Cmd(_));
    let has_command = instructions.iter().any(sets_command);
    for instruction in instructions {
        apply_one(instruction, has_command, config)?;
    }
    Ok(())
}

fn apply_one(
    instruction: &Instruction,
    has_command: bool,
    config: &mut Map<String, Value>,
) -> Result<(), ChildConfigError> {
    let environment = environment(config);
    let expand = |word: &Word| {
        word.expanded(|name| {
            let mut found = environment.iter().filter_map(|text| text.split_once('='));
            found
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.to_owned())
        })
    };
    let name = |word: &Word| match expand(word) {
        name if name.is_empty() => Err(instruction.invalid("a name is empty")),
        name => Ok(name),
    };
    let mut set = |key: &str, value: Value| drop(config.insert(key.to_owned(), value));
    match &instruction.change {
        Change::Cmd(command) => set("Cmd", json!(command)),
        Change::Entrypoint(command) => {
            set("Entrypoint", json!(command));
            // The command of the parent was meant for another program.
            if !has_command {
                config.remove("Cmd");
            }
        }
        Change::User(word) => set("User", json!(expand(word))),
        Change::StopSignal(word) => set("StopSignal", json!(expand(word))),
        Change::WorkingDirectory(word) => {
            let current = config.get("WorkingDir").and_then(Value::as_str);
            let path = joined(current.unwrap_or("/"), &expand(word));
            config.insert("WorkingDir".to_owned(), json!(path));
        }
        Change::Env(pairs) => {
            let variables = list(config, "Env")?;
            for (key, value) in pairs {
                set_variable(variables, &name(key)?, &expand(value));
            }
        }
        Change::Label(pairs) => {
            let labels = object(config, "Labels")?;
            for (key, value) in pairs {
                labels.insert(name(key)?, json!(expand(value)));
            }
        }
        Change::Expose(words) => {
            let exposed = object(config, "ExposedPorts")?;
            for word in words {
                let ports = ports(&expand(word)).map_err(|reason| instruction.invalid(reason))?;
                exposed.extend(ports.map(|port| (port, json!({}))));
            }
        }
        Change::Volume(words) => {
            let volumes = object(config, "Volumes")?;
            for word in words {
                volumes.insert(name(word)?, json!({}));
            }
        }
    }
    Ok(())
}

impl Instruction {
    /// Returns the error of an instruction that is wrong with the values of its variables.
    fn invalid(&self, reason: impl Into<String>) -> ChildConfigError {
        InvalidInstruction::new(&self.text, reason).into()
    }
}

/// Returns the variables of a config.
fn environment(config: &Map<String, Value>) -> Vec<String> {
    let variables = config.get("Env").and_then(Value::as_array);
    let variables = variables.into_iter().flatten().filter_map(Value::as_str);
    variables.map(str::to_owned).collect()
}

fn set_variable(variables: &mut Vec<Value>, name: &str, value: &str) {
    let text = json!(format!("{name}={value}"));
    let is_it = |variable: &&mut Value| {
        let key = variable.as_str().and_then(|text| text.split('=').next());
        key == Some(name)
    };
    match variables.iter_mut().find(is_it) {
        Some(variable) => *variable = text,
        None => variables.push(text),
    }
}

/// Returns a path from a directory, without `.` and `..`.
fn joined(directory: &str, path: &str) -> String {
    let all = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{directory}/{path}")
    };
    let mut names: Vec<&str> = Vec::new();
    for name in all.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_instructions_say_what_is_right() {
        let message = |text: &str| {
            let parsed: Result<Instruction, _> = text.parse();
            parsed.expect_err(text).to_string()
        };
        assert!(message("RUN make").contains("use CMD, ENTRYPOINT, ENV"));
        assert!(message("ENV").ends_with("ENV needs a value"));
        assert!(message("ENV A").ends_with("write NAME=VALUE"));
        assert!(message("ENV =1").ends_with("a name is empty"));
        assert!(message("ENV A=1 B").ends_with("write NAME=VALUE for every value"));
        assert!(message("USER a b").ends_with("it takes one value"));
        assert!(message("LABEL a='b").contains("single quote"));
    }

    #[test]
    fn directories_are_joined() {
        for (path, expected) in [("b", "/a/b"), ("/b/", "/b"), ("../../c", "/c"), (".", "/a")] {
            assert_eq!(joined("/a", path), expected);
        }
    }
}
