use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Reads the parameters of `operation`, whose names are `known`.
///
/// # Errors
///
/// Text that is not a JSON object, a field that the operation does not have, or a value of another
/// type.
pub(crate) fn parse<P: DeserializeOwned>(
    operation: &str,
    text: &str,
    known: &[String],
) -> Result<P, Failure> {
    let object: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        Failure::invalid_argument(&format!(
            "the parameters of {operation} are not a JSON object: {error}"
        ))
    })?;
    if let Some(unknown) = object.keys().find(|key| !known.contains(key)) {
        return Err(unknown_field(operation, unknown, known));
    }
    serde_json::from_value(Value::Object(object)).map_err(|error| {
        Failure::invalid_argument(&format!(
            "cannot read the parameters of {operation}: {error}"
        ))
    })
}

fn unknown_field(operation: &str, unknown: &str, known: &[String]) -> Failure {
    let unknown = unknown.escape_debug();
    let accepted = if known.is_empty() {
        "it has none".to_owned()
    } else {
        format!("it has {}", known.join(", "))
    };
    Failure::invalid_argument(&format!(
        "{operation} has no parameter '{unknown}': {accepted}"
    ))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use crate::failure::Failure;

    #[derive(Debug, Deserialize)]
    struct Write {
        path: String,
        #[serde(default)]
        parents: bool,
    }

    fn parse(text: &str) -> Result<Write, Failure> {
        super::parse(
            "files.write",
            text,
            &["path".to_owned(), "parents".to_owned()],
        )
    }

    #[test]
    fn an_unknown_field_is_refused_by_name() {
        let refused = parse(r#"{"path":"/a","parent":true}"#);
        let failure = refused.expect_err("'parent' is not a field");
        assert_eq!(
            failure.message(),
            "files.write has no parameter 'parent': it has path, parents"
        );
        assert_eq!(failure.code(), "invalid-argument");
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        for text in ["[]", "3", "", r#"{"path":1}"#, "{}"] {
            let failure = parse(text).expect_err(text);
            assert_eq!(failure.code(), "invalid-argument");
        }
        let read = parse(r#"{"path":"/a"}"#).expect("it is complete");
        assert!(read.path == "/a" && !read.parents);
    }
}
