//! Schemas in the form that every client reads.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// Returns a schema without what some clients refuse: values that may be null, and formats and dialects that they do
/// not know. What can be null can be left out, too.
pub(crate) fn plain(schema: &JsonObject) -> JsonObject {
    let mut plain = plain_object(schema);
    plain.entry("properties").or_insert_with(|| json!({}));
    plain
}

fn plain_object(schema: &JsonObject) -> JsonObject {
    let mut plain = JsonObject::new();
    for (key, value) in schema {
        let is_noise = match key.as_str() {
            "$schema" | "format" => value.is_string(),
            "default" => value.is_null(),
            _ => false,
        };
        if is_noise {
            continue;
        }
        let value = match (key.as_str(), value) {
            ("type" | "enum", Value::Array(values)) => without_null(key, values),
            // A comment is wrapped, and a description is not.
            ("description", Value::String(text)) => Value::String(text.replace('\n', " ")),
            (_, value) => plain_value(value),
        };
        plain.insert(key.clone(), value);
    }
    merged(plain)
}

fn plain_value(value: &Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(plain_object(object)),
        Value::Array(values) => values.iter().map(plain_value).collect(),
        other => other.clone(),
    }
}

/// Returns the types or values without null. A single type stands alone.
fn without_null(key: &str, values: &[Value]) -> Value {
    let is_null = |value: &Value| value.is_null() || (key == "type" && value == "null");
    let mut kept: Vec<Value> = values
        .iter()
        .filter(|value| !is_null(value))
        .cloned()
        .collect();
    if key == "type" && kept.len() == 1 {
        return kept.swap_remove(0);
    }
    Value::Array(kept)
}

/// Returns a schema that is one of two, the other of which is null, as the first one.
fn merged(mut schema: JsonObject) -> JsonObject {
    let is_null = |value: &Value| value.get("type").is_some_and(|kind| kind == "null");
    let Some(Value::Array(choices)) = schema.get("anyOf") else {
        return schema;
    };
    let kept: Vec<Value> = choices
        .iter()
        .filter(|one| !is_null(one))
        .cloned()
        .collect();
    if let (2, [Value::Object(only)]) = (choices.len(), kept.as_slice()) {
        let only = only.clone();
        schema.remove("anyOf");
        for (key, value) in only {
            schema.entry(key).or_insert(value);
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> JsonObject {
        match value {
            Value::Object(object) => object,
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn what_may_be_null_may_be_left_out_instead() {
        let schema = object(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "name": {"type": ["string", "null"], "default": null, "description": "A\nname."},
                "count": {"type": "integer", "format": "uint32", "default": 3, "minimum": 0},
                "format": {"type": "string", "enum": ["a", "b", null]},
                "mode": {"description": "A mode.", "anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]},
            },
            "additionalProperties": false,
        }));
        let expected = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "A name."},
                "count": {"type": "integer", "default": 3, "minimum": 0},
                "format": {"type": "string", "enum": ["a", "b"]},
                "mode": {"description": "A mode.", "type": "string", "enum": ["x"]},
            },
            "additionalProperties": false,
        });
        assert_eq!(Value::Object(plain(&schema)), expected);
    }

    #[test]
    fn an_object_without_fields_says_so() {
        let schema = object(json!({"type": "object"}));
        let expected = json!({"type": "object", "properties": {}});
        assert_eq!(Value::Object(plain(&schema)), expected);
    }
}
