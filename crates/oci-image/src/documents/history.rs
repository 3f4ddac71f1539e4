use serde::Deserialize;

use super::ManifestError;

/// A step in which an image was made, as its config tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HistoryEntry {
    /// Time of the step: RFC 3339 if it keeps to the standard, and any text if not.
    pub created: Option<String>,
    /// Command of the step.
    pub created_by: Option<String>,
    /// Author of the step.
    pub author: Option<String>,
    /// Comment on the step.
    pub comment: Option<String>,
    /// True if the step made no layer.
    pub empty_layer: bool,
}

#[derive(Deserialize)]
struct RawHistory {
    history: Option<Vec<HistoryEntry>>,
}

/// Returns the steps in which an image was made, the first one first; none if its config tells
/// none.
///
/// # Errors
/// If the config is not JSON of the expected form.
pub fn history(config: &[u8]) -> Result<Vec<HistoryEntry>, ManifestError> {
    let raw: RawHistory = serde_json::from_slice(config).map_err(|source| ManifestError::Json {
        what: "image config",
        source,
    })?;
    Ok(raw.history.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_and_may_be_missing() {
        let config = br#"{"history":[{"created":"2020-01-01T00:00:00Z","created_by":"COPY a /"},
            {"created_by":"ENV A=1","empty_layer":true,"comment":null}],"os":"linux"}"#;
        let steps = history(config).expect("a history");
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[0].created_by.as_deref(), Some("COPY a /"));
        assert!(!steps[0].empty_layer && steps[1].empty_layer);
        assert_eq!(history(b"{}").expect("none"), []);
        history(br#"{"history":5}"#).expect_err("no list");
    }
}
