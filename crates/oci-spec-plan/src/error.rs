use container_plan::PlanError;
use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde_json::Value;

use crate::json::{CONFIG_MAX_BYTES, DEPTH_MAX, ENTRIES_MAX};

/// The most characters of a refused text in an error.
const SHOWN_MAX_CHARS: usize = 120;

/// The error for a specification that cannot become a plan.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The text is too long.
    #[error("the container's specification has {bytes} bytes, the limit is {CONFIG_MAX_BYTES}")]
    TooLong {
        /// The length, in bytes.
        bytes: usize,
    },
    /// The text has too many values.
    #[error("the container's specification has more than {ENTRIES_MAX} values")]
    TooManyEntries,
    /// The text is nested too deeply.
    #[error("the container's specification has more than {DEPTH_MAX} levels")]
    TooDeep,
    /// The text is not JSON.
    #[error("cannot parse the container's specification")]
    Parse(#[from] serde_json::Error),
    /// A field is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The plan has a value that no guest accepts.
    #[error("cannot plan the container")]
    Plan(#[from] PlanError),
}

/// A field of a specification that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} of the container's specification is {value}: {reason}")]
pub struct Refusal {
    /// The path of the field, such as `mounts[3].options[1]`.
    pub path: String,
    /// The value, quoted and shortened. A variable of a process is not shown.
    pub value: String,
    /// The reason, or the accepted values.
    pub reason: &'static str,
    /// The remedy; `None` if the reason says it.
    pub remedy: Option<&'static str>,
}

impl Refusal {
    /// Returns the refusal of a value.
    pub(crate) fn new(
        path: &str,
        value: &Value,
        reason: &'static str,
        remedy: Option<&'static str>,
    ) -> Self {
        let value = if path.starts_with("process.env") {
            "a value that is not shown".to_owned()
        } else {
            shown(value)
        };
        Self {
            path: path.to_owned(),
            value,
            reason,
            remedy,
        }
    }

    /// Returns the refusal of a field that is missing.
    pub(crate) fn missing(path: &str, reason: &'static str) -> Self {
        Self {
            path: path.to_owned(),
            value: "missing".to_owned(),
            reason,
            remedy: None,
        }
    }
}

impl Diagnose for SpecError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::TooLong { .. } | Self::TooManyEntries | Self::TooDeep | Self::Parse(_) => {
                Diagnosis::new(ErrorKind::InvalidArgument)
            }
            Self::Refused(refusal) => refusal.diagnosis(),
            Self::Plan(source) => source.diagnosis(),
        }
    }
}

impl Diagnose for Refusal {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::InvalidArgument).with_hints(self.remedy)
    }
}

/// Returns a text in quotes, escaped and shortened.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX_CHARS) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(entries) => format!("a list of {}", entries.len()),
        Value::Object(fields) => format!("an object of {}", fields.len()),
    }
}
