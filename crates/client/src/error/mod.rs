//! The one error of all operations.

mod chain;
mod conversions;

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use diagnosis::Hint;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

pub use diagnosis::{ErrorKind, Face};

pub use chain::{line, printable};

/// The exit code of msb's own failures, as docker numbers it.
const EXIT_MSB_FAILED: u8 = 125;

/// An operation that failed: its kind, a message with all causes, and hints for the user.
///
/// ```
/// use msb_sdk::{Error, ErrorKind};
///
/// fn is_worth_another_try(error: &Error) -> bool {
///     error.is(ErrorKind::Busy) || error.is(ErrorKind::RegistryError)
/// }
/// ```
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    causes: Vec<String>,
    hints: Vec<Hint>,
    details: Map<String, Value>,
    exit_code: u8,
    stdout: Bytes,
    stderr: Bytes,
    origin: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Returns an error of a kind, with a message of one line.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            inner: Box::new(Inner {
                kind,
                message: message.into(),
                causes: Vec::new(),
                hints: Vec::new(),
                details: Map::new(),
                exit_code: exit_code(kind),
                stdout: Bytes::new(),
                stderr: Bytes::new(),
                origin: None,
            }),
        }
    }

    /// Returns the error of an argument that cannot be used.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// Returns the error of a fault in msb itself, or of a cause that is not known.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InternalError, message)
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// Returns true if the error is of this kind, or of one of its children.
    pub fn is(&self, kind: ErrorKind) -> bool {
        self.inner.kind.is(kind)
    }

    /// Returns the stable code of the kind, in kebab case.
    pub fn code(&self) -> String {
        self.inner.kind.code()
    }

    /// Returns the message: one line, which ends in the innermost cause.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// Returns the messages of the causes, the outermost first.
    pub fn causes(&self) -> &[String] {
        &self.inner.causes
    }

    /// Returns the remedies, one on each line; `None` if no remedy is known.
    pub fn hint(&self) -> Option<String> {
        self.hint_for(Face::Rust)
    }

    /// Returns the remedies, in the words of a face of msb, one on each line.
    pub fn hint_for(&self, face: Face) -> Option<String> {
        let hints = self.hints_for(face);
        (!hints.is_empty()).then(|| hints.join("\n"))
    }

    /// Returns the remedies, in the words of a face of msb.
    pub fn hints_for(&self, face: Face) -> Vec<String> {
        let hints = self.inner.hints.iter();
        hints.map(|hint| printable(hint.words(face))).collect()
    }

    pub(crate) fn hints(&self) -> &[Hint] {
        &self.inner.hints
    }

    /// Returns named values of the error, such as `name`, `path` or `limit_bytes`.
    pub fn details(&self) -> &Map<String, Value> {
        &self.inner.details
    }

    /// Returns the last lines that a machine and its guest printed before the error.
    pub fn last_words(&self) -> Vec<String> {
        let words = self.inner.details.get("last_words");
        let words = words.and_then(Value::as_array).into_iter().flatten();
        words
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect()
    }

    /// Returns the standard output of the command up to the error.
    pub fn stdout(&self) -> &Bytes {
        &self.inner.stdout
    }

    /// Returns the standard error of the command up to the error.
    pub fn stderr(&self) -> &Bytes {
        &self.inner.stderr
    }

    /// Returns the exit code of a command line that fails with this error, as docker numbers it:
    /// 124 after a timeout, 126 and 127 for a command that cannot be executed or does not exist,
    /// the command's own, and 125 for everything else.
    pub fn exit_code(&self) -> u8 {
        self.inner.exit_code
    }

    /// Returns the error that this one was made from. [`std::error::Error::source`] returns `None`,
    /// because the message contains all causes.
    pub fn origin(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        self.inner.origin.as_deref()
    }

    /// Returns the error as one of another kind, with the exit code of that.
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.inner.kind = kind;
        self.inner.exit_code = exit_code(kind);
        self
    }

    /// Returns the error as one of `kind`, if nothing more precise is known.
    pub fn or_kind(self, kind: ErrorKind) -> Self {
        if self.inner.kind == ErrorKind::InternalError {
            self.with_kind(kind)
        } else {
            self
        }
    }

    /// Returns the error with the failed action before its message.
    pub fn context(mut self, what: impl fmt::Display) -> Self {
        let message = printable(&what.to_string());
        let cause = std::mem::take(&mut self.inner.message);
        self.inner.message = format!("{message}: {cause}");
        self.inner.causes.insert(0, cause);
        self
    }

    /// Returns the error with a further remedy.
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.inner.hints.push(hint.into());
        self
    }

    /// Returns the error with this remedy instead of all others.
    pub fn with_only_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.inner.hints = vec![hint.into()];
        self
    }

    /// Returns the error with a remedy before all others.
    pub(crate) fn with_first_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.inner.hints.insert(0, hint.into());
        self
    }

    /// Returns the error with a named value.
    pub fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.inner.details.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the error with the exit code of a command line that fails with it.
    pub fn with_exit_code(mut self, exit_code: u8) -> Self {
        self.inner.exit_code = exit_code;
        self
    }

    /// Returns the error with the output of the command up to it.
    pub fn with_output(mut self, stdout: Bytes, stderr: Bytes) -> Self {
        (self.inner.stdout, self.inner.stderr) = (stdout, stderr);
        self
    }

    /// Returns the error with the last lines that a machine and its guest printed.
    pub fn with_last_words(self, last_words: Vec<String>) -> Self {
        let words: Vec<_> = last_words.iter().map(|line| printable(line)).collect();
        self.with_detail("last_words", words)
    }
}

/// Returns docker's exit code for an error of this kind.
fn exit_code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::CommandTimeout => 124,
        ErrorKind::NotExecutable => 126,
        ErrorKind::CommandNotFound => 127,
        _ => EXIT_MSB_FAILED,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)
    }
}

/// Writes the message and the hints, as a `main` that returns the error prints them.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)?;
        for hint in &self.inner.hints {
            write!(f, "\nhint: {}", printable(hint.words(Face::Rust)))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Writes kind, parents, code, message, hint, the hints of languages, details and causes; the command's output
/// is apart.
impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parents: Vec<_> = self
            .kind()
            .parent()
            .iter()
            .map(|kind| kind.name())
            .collect();
        let mut fields = serializer.serialize_struct("Error", 8)?;
        fields.serialize_field("kind", &self.kind())?;
        fields.serialize_field("parents", &parents)?;
        fields.serialize_field("code", &self.code())?;
        fields.serialize_field("message", self.message())?;
        fields.serialize_field("hint", &self.hint_for(Face::CommandLine))?;
        let hints = [("python", Face::Python), ("typescript", Face::TypeScript)];
        let hints = hints.map(|(language, face)| (language, self.hint_for(face)));
        fields.serialize_field("hints", &BTreeMap::from(hints))?;
        fields.serialize_field("details", self.details())?;
        fields.serialize_field("causes", self.causes())?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_written_with_its_parents() {
        let error = Error::new(ErrorKind::SandboxNotFound, "no such sandbox: web")
            .with_hint("list them")
            .with_detail("name", "web")
            .context("cannot stop it");
        let shown = "cannot stop it: no such sandbox: web\nhint: list them";
        assert_eq!(format!("{error:?}"), shown);
        let json = serde_json::to_value(&error).expect("written");
        assert_eq!(json["kind"], "SandboxNotFound");
        assert_eq!(json["parents"][0], "NotFound");
        assert_eq!(json["code"], "sandbox-not-found");
        assert_eq!(json["message"], "cannot stop it: no such sandbox: web");
        assert_eq!(json["hint"], "list them");
        assert_eq!(json["hints"]["python"], "list them");
        assert_eq!(json["details"]["name"], "web");
        assert_eq!(json["causes"][0], "no such sandbox: web");
    }

    #[test]
    fn exit_codes_are_dockers() {
        let code = |kind| Error::new(kind, "").exit_code();
        assert_eq!(code(ErrorKind::CommandNotFound), 127);
        assert_eq!(code(ErrorKind::NotExecutable), 126);
        assert_eq!(code(ErrorKind::CommandTimeout), 124);
        assert_eq!(code(ErrorKind::SandboxNotFound), 125);
    }
}
