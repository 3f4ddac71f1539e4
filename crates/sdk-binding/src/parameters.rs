use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The most characters of a refused value that a message shows.
const VALUE_MAX: usize = 60;
/// Parameters that have values which no message may show.
const SECRET: [&str; 3] = ["password", "secrets", "value"];

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
    serde_json::from_value(Value::Object(object.clone()))
        .map_err(|error| refused::<P>(operation, &object, &error.to_string()))
}

/// Returns the failure of parameters that cannot be read. It names the one that is wrong.
fn refused<P: DeserializeOwned>(
    operation: &str,
    object: &Map<String, Value>,
    error: &str,
) -> Failure {
    if let Some((_, rest)) = error.split_once("missing field `") {
        let name = rest.split('`').next().unwrap_or_default();
        return Failure::invalid_argument(&format!("{operation} needs the parameter '{name}'"));
    }
    let is_wrong = |name: &&String| {
        let mut others = object.clone();
        others.remove(*name);
        let missing = format!("missing field `{name}`");
        match serde_json::from_value::<P>(Value::Object(others)) {
            Ok(_) => true,
            Err(without) => without.to_string().starts_with(&missing),
        }
    };
    let Some(name) = object.keys().find(is_wrong) else {
        return Failure::invalid_argument(&format!(
            "cannot read the parameters of {operation}: {}",
            reason(error)
        ));
    };
    let value = if SECRET.contains(&name.as_str()) {
        "used".to_owned()
    } else {
        shown(&object[name])
    };
    Failure::invalid_argument(&format!(
        "{name} of {operation} cannot be {value}: {}",
        reason(error)
    ))
}

/// Returns a value on one line, cut if it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    let mut characters = text.chars().flat_map(|character| {
        let is_plain = !character.is_control();
        let plain = is_plain.then_some(character);
        let escaped = (!is_plain).then(|| character.escape_default());
        plain.into_iter().chain(escaped.into_iter().flatten())
    });
    let mut shown: String = characters.by_ref().take(VALUE_MAX).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Returns the reason of a refusal in the words of JSON, not of the deserialiser.
fn reason(error: &str) -> String {
    let is_of_type = error.starts_with("invalid type: ") || error.starts_with("invalid value: ");
    let Some((_, expected)) = error.split_once(", expected ").filter(|_| is_of_type) else {
        return error.to_owned();
    };
    let expected = match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65,535",
        "u32" | "u64" | "usize" => "a whole number from 0",
        "a nonzero u32" => "a whole number from 1",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "string" | "path string" => "text",
        "a sequence" => "a list",
        "a boolean" => "true or false",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other if other.contains("enum ") => "one of its words",
        other => other,
    };
    format!("{expected} is expected")
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
    fn a_wrong_value_is_named_in_plain_words() {
        let message = |text| parse(text).expect_err(text).message();
        assert_eq!(
            message(r#"{"path":1}"#),
            "path of files.write cannot be 1: text is expected"
        );
        assert_eq!(
            message(r#"{"path":"/a","parents":"yes"}"#),
            r#"parents of files.write cannot be "yes": true or false is expected"#
        );
        assert_eq!(message("{}"), "files.write needs the parameter 'path'");
        let long = format!(r#"{{"path":["{}"]}}"#, "x".repeat(500));
        let message = message(&long);
        assert!(message.chars().count() < 120, "{message}");
    }

    #[test]
    fn options_of_a_sandbox_are_refused_without_words_of_the_deserialiser() {
        let parse = |text: &str| {
            let names = [
                "image", "ports", "network", "cpus", "user", "env", "command",
            ];
            let names = names.map(str::to_owned);
            super::parse::<msb_sdk::SandboxOptions>("sandboxes.run", text, &names)
        };
        for text in [
            r#"{"ports":[{"guest_port":"80/tcp"}]}"#,
            r#"{"ports":{"80":8080}}"#,
            r#"{"network":"off"}"#,
            r#"{"network":false}"#,
            r#"{"cpus":1.5}"#,
            r#"{"user":1000}"#,
            r#"{"env":{"A":5}}"#,
            r#"{"command":["echo",5]}"#,
            r#"{"command":"ls -l"}"#,
        ] {
            let message = parse(text).expect_err(text).message();
            for word in [
                "enum", "untagged", "Form", "struct", "u8", "sequence", "variant",
            ] {
                assert!(!message.contains(word), "{text}: {message}");
            }
            let name = text.split('"').nth(1).expect("a name");
            assert!(message.starts_with(name), "{text}: {message}");
        }
        let off = parse(r#"{"network":"off"}"#).expect_err("no such word");
        assert!(
            off.message().contains("outbound, listed or none"),
            "{off:?}"
        );
    }

    #[test]
    fn a_refused_secret_is_not_shown() {
        let refused = |secrets: &str| {
            let text = format!(r#"{{"secrets":{secrets}}}"#);
            let names = ["secrets".to_owned()];
            let refused = super::parse::<msb_sdk::SandboxOptions>("sandboxes.run", &text, &names);
            refused.expect_err(secrets).message()
        };
        for secrets in [
            r#"[{"name":"K","to":["a.example"],"value":"hunter22\n"}]"#,
            r#"[{"name":"K","to":["*"],"value":"hunter22"}]"#,
            r#"[{"name":"hunter22 ","to":["a.example"]}]"#,
            r#"[{"name":"K","to":["a.example"],"from":"hunter22"}]"#,
            r#""hunter22""#,
        ] {
            let message = refused(secrets);
            assert!(
                message.starts_with("secrets of sandboxes.run cannot be used: "),
                "{message}"
            );
            assert!(!message.contains("hunter22"), "{message}");
        }
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
