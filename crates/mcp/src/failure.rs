//! Calls that end without a result: failures as models read them, cancellations, questions to the client.

use msb_sdk::{Error, ErrorKind, Face};
use rmcp::model::{CallToolResult, ContentBlock, InputRequiredResult, JsonObject, MetaObject};
use serde_json::Value;

/// The key of a failure's fields in the metadata of a result.
const META_KEY: &str = "msb/error";
/// The most bytes of an error's details that its text shows.
const DETAILS_MAX: usize = 4 << 10;

/// The end of a call that has no result.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The call failed.
    Failed(Box<Failure>),
    /// The client cancelled the call, or has gone.
    Cancelled,
    /// The client has to ask its user, and to call again with the answer.
    Asks(Box<InputRequiredResult>),
}

/// A failure of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    kind: ErrorKind,
    message: String,
    /// Remedies that are calls of tools.
    hints: Vec<String>,
    /// Remedies that are command lines of the host, on which no tool runs one.
    user_hints: Vec<String>,
    details: JsonObject,
}

impl Stop {
    /// Gives a failure because something was not found the remedy of a tool in place of a command line.
    pub(crate) fn when_not_found(mut self, hint: &str) -> Self {
        if let Self::Failed(failure) = &mut self
            && failure.kind == ErrorKind::NotFound
        {
            failure.hints.push(hint.to_owned());
            failure.user_hints.clear();
        }
        self
    }
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hints: Vec::new(),
            user_hints: Vec::new(),
            details: JsonObject::new(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the failure as a tool's result. It has no structured content: clients compare that with the schema
    /// of the tool's results, which a failure does not follow.
    pub(crate) fn result(&self) -> CallToolResult {
        let meta = JsonObject::from_iter([(META_KEY.to_owned(), self.fields())]);
        CallToolResult::error(vec![ContentBlock::text(self.text())])
            .with_meta(Some(MetaObject::from(meta)))
    }

    /// Returns the failure as a model reads it: the message, its kind, its hints and its details, a line for each.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\nkind: {}", self.message, self.kind);
        for hint in &self.hints {
            text.push_str("\nhint: ");
            text.push_str(hint);
        }
        for hint in &self.user_hints {
            text.push_str("\nhint for the user: ");
            text.push_str(hint);
        }
        if !self.details.is_empty() {
            let details = Value::Object(self.details.clone()).to_string();
            if details.len() <= DETAILS_MAX {
                text.push_str("\ndetails: ");
                text.push_str(&details);
            }
        }
        text
    }

    fn fields(&self) -> Value {
        serde_json::json!({
            "kind": self.kind.code(),
            "message": self.message,
            "hints": self.hints,
            "user_hints": self.user_hints,
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            kind: error.kind(),
            message: error.message().to_owned(),
            hints: Vec::new(),
            user_hints: error.hints_for(Face::CommandLine),
            details: error.details().clone(),
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Failure::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_its_kind_and_hints_as_text_and_as_metadata() {
        let failure = Failure::new(ErrorKind::SandboxNotFound, "no such sandbox: web")
            .with_hint("list them with sandbox_list");
        let result = serde_json::to_value(failure.result()).expect("written");
        let expected =
            "no such sandbox: web\nkind: sandbox-not-found\nhint: list them with sandbox_list";
        assert_eq!(result["content"][0]["text"], expected);
        assert_eq!(result["isError"], true);
        assert_eq!(result["_meta"][META_KEY]["kind"], "sandbox-not-found");
        assert_eq!(result.get("structuredContent"), None);
    }

    #[test]
    fn command_lines_of_the_host_are_for_its_user() {
        let mut failure = Failure::new(ErrorKind::NotFound, "web has no snapshot old");
        failure
            .user_hints
            .push("list them with msb snapshot ls web".to_owned());
        let text = failure.text();
        assert!(
            text.ends_with("\nhint for the user: list them with msb snapshot ls web"),
            "{text}"
        );
        let hinted = |kind| {
            let mut failure = failure.clone();
            failure.kind = kind;
            match Stop::from(failure).when_not_found("take one") {
                Stop::Failed(failure) => (failure.hints, failure.user_hints.len()),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            hinted(ErrorKind::NotFound),
            (vec!["take one".to_owned()], 0)
        );
        assert_eq!(hinted(ErrorKind::SandboxNotFound), (Vec::new(), 1));
    }

    #[test]
    fn long_details_are_left_out_of_the_text() {
        let mut failure = Failure::invalid("no");
        failure.details.insert("path".to_owned(), Value::from("/a"));
        assert!(failure.text().ends_with("\ndetails: {\"path\":\"/a\"}"));
        failure
            .details
            .insert("more".to_owned(), Value::from("x".repeat(DETAILS_MAX)));
        assert!(!failure.text().contains("details"));
    }
}
