use std::collections::BTreeMap;
use std::error::Error;

use bytes::Bytes;
use msb_sdk::ErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The failure of an operation.
///
/// `value` is a JSON object: `kind` and `parents` (names of the error tree), `code` (kebab-case),
/// `message`, `hint` (a string or null), `hints` (the same in the words of
/// a language, by its name: `python`, `typescript`), `details` (an object) and `causes` (messages of the
/// sources, the nearest first).
#[derive(Debug, Clone)]
pub struct Failure {
    /// The description, as JSON.
    pub value: String,
    /// The standard output and standard error of a command up to its failure; empty if no command
    /// failed.
    pub content: Vec<Bytes>,
}

/// The fields of [`Failure::value`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Description {
    pub(crate) kind: String,
    pub(crate) parents: Vec<String>,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The hint in the words of each language that has its own.
    #[serde(default)]
    pub(crate) hints: BTreeMap<String, Option<String>>,
    pub(crate) details: Map<String, Value>,
    pub(crate) causes: Vec<String>,
}

impl Failure {
    /// Returns the failure of a parameter.
    pub(crate) fn invalid_argument(message: &str) -> Self {
        Description::new(ErrorKind::InvalidArgument, message).into()
    }

    /// Returns the failure of a call on an object that was closed.
    pub(crate) fn closed(object: &str) -> Self {
        let message = format!("cannot use the {object}: it is closed");
        Description::new(ErrorKind::NotRunning, &message)
            .with_code("closed")
            .into()
    }

    /// Returns the failure of a call after [`Client::shutdown`](crate::Client::shutdown).
    #[must_use]
    pub fn client_closed() -> Self {
        let message = "cannot use the client: it is closed";
        Description::new(ErrorKind::NotRunning, message)
            .with_code("client-closed")
            .into()
    }

    /// Returns the failure of a call in a process that was forked from the client's own.
    #[must_use]
    pub fn forked() -> Self {
        let message =
            "cannot use a client in a process that was forked from the one that opened it";
        let mut description = Description::new(ErrorKind::ForkedError, message);
        description.hint = Some("open a client in each process".to_owned());
        description.into()
    }

    /// Returns the failure of something that does not fail in a correct program.
    pub(crate) fn internal(message: &str, cause: &(dyn Error + 'static)) -> Self {
        let mut description = Description::new(ErrorKind::InternalError, message);
        description.causes = causes(Some(cause));
        description.into()
    }

    /// Returns the failure of a call of an operation that does not exist.
    pub(crate) fn no_operation(object: &str, name: &str) -> Self {
        let name = name.escape_debug();
        let message = format!("a {object} has no operation '{name}'");
        Description::new(ErrorKind::InternalError, &message)
            .with_code("no-such-operation")
            .into()
    }

    /// Returns the failure of an operation that panicked.
    pub(crate) fn panicked(operation: &str, payload: &str) -> Self {
        let message = format!("{operation} panicked: {payload}");
        Description::new(ErrorKind::InternalError, &message)
            .with_code("panic")
            .into()
    }

    /// Returns the description's `code`.
    #[cfg(test)]
    pub(crate) fn code(&self) -> String {
        self.description().code
    }

    /// Returns the description's `message`.
    #[cfg(test)]
    pub(crate) fn message(&self) -> String {
        self.description().message
    }

    #[cfg(test)]
    fn description(&self) -> Description {
        serde_json::from_str(&self.value).expect("the value is a description")
    }
}

impl Description {
    fn new(kind: ErrorKind, message: &str) -> Self {
        Self {
            kind: kind.name(),
            parents: kind.parent().iter().map(|kind| kind.name()).collect(),
            code: kind.code(),
            message: message.to_owned(),
            hint: None,
            hints: BTreeMap::new(),
            details: Map::new(),
            causes: Vec::new(),
        }
    }

    fn with_code(mut self, code: &str) -> Self {
        code.clone_into(&mut self.code);
        self
    }
}

impl From<msb_sdk::Error> for Failure {
    fn from(error: msb_sdk::Error) -> Self {
        let value = serde_json::to_string(&error);
        let (stdout, stderr) = (error.stdout(), error.stderr());
        let content = if error.is(ErrorKind::CommandError) {
            vec![stdout.clone(), stderr.clone()]
        } else {
            Vec::new()
        };
        Self {
            value: value.expect("an error has string keys only"),
            content,
        }
    }
}

impl From<Description> for Failure {
    fn from(description: Description) -> Self {
        Self {
            value: serde_json::to_string(&description).expect("a description has string keys only"),
            content: Vec::new(),
        }
    }
}

/// Returns the messages of an error and its sources.
pub(crate) fn causes(first: Option<&(dyn Error + 'static)>) -> Vec<String> {
    let mut messages = Vec::new();
    let mut next = first;
    while let Some(error) = next {
        messages.push(error.to_string());
        next = error.source();
    }
    messages
}
