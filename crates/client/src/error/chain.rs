//! Errors of msb's other crates: the messages of their causes, and their diagnoses.

use std::error::Error as StdError;
use std::io;

use diagnosis::{Detail, Diagnosis, ErrorKind, is_full_disk};
use serde_json::Value;

use super::Error;

impl Error {
    /// Converts an error of another crate. A full disk among its causes counts before its own kind.
    pub(super) fn convert<E>(error: E, diagnosis: &Diagnosis) -> Self
    where
        E: StdError + Send + Sync + 'static,
    {
        let is_full = causes(&error)
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(is_full_disk);
        let kind = if is_full {
            ErrorKind::OutOfSpace
        } else {
            diagnosis.kind()
        };
        let mut converted = Self::new(kind, line(&error));
        for (name, detail) in diagnosis.details() {
            converted = converted.with_detail(name, value(detail));
        }
        let inner = &mut *converted.inner;
        inner.hints = diagnosis.hints().to_vec();
        inner.causes = causes(&error)
            .skip(1)
            .map(|cause| printable(&cause.to_string()))
            .collect();
        inner.origin = Some(Box::new(error));
        converted
    }
}

fn value(detail: &Detail) -> Value {
    match detail {
        Detail::Text(text) => text.as_str().into(),
        Detail::Number(number) => (*number).into(),
        Detail::Lines(lines) => lines.iter().map(|line| printable(line)).collect(),
    }
}

/// Returns an error and its causes, the outermost first.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

/// Returns an error and its causes on one line. Parts of it may come from a registry or a guest, so
/// control characters are escaped.
pub fn line(error: &(dyn StdError + 'static)) -> String {
    let mut line = String::new();
    for (depth, cause) in causes(error).enumerate() {
        let text = cause.to_string();
        // A cause whose text ends the line already adds nothing.
        if depth > 0 && line.ends_with(&text) {
            continue;
        }
        if depth > 0 {
            line.push_str(": ");
        }
        line.push_str(&text);
    }
    printable(&line)
}

/// Returns `text` on one line, with hidden characters escaped.
pub fn printable(text: &str) -> String {
    terminal_text::escaped(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_printable() {
        assert_eq!(
            printable("\u{1b}[31mno\nreally\u{202e}"),
            "\\u{1b}[31mno\\nreally\\u{202e}"
        );
    }
}
