use msb_sandbox_model::GuestSettings;
use serde_json::{Map, Value};

/// A setting of a guest, as the schema of the model describes it.
pub(crate) struct Setting {
    /// The key in JSON.
    pub(crate) name: String,
    /// The description: whole sentences on one line.
    pub(crate) text: String,
    pub(crate) kind: Kind,
    /// True if the setting can be left without a value.
    pub(crate) is_nullable: bool,
}

/// The values of a setting.
pub(crate) enum Kind {
    Flag,
    /// A whole number, with its minimum.
    Number(u64),
    /// A number of bytes, or text such as `1.5G`.
    Size,
    Text,
    /// One of several words.
    Word(Vec<String>),
    /// Texts by names that users choose.
    Texts,
    /// A list of texts.
    List,
}

impl Setting {
    /// Returns all settings, in the order of their names.
    pub(crate) fn all() -> Vec<Self> {
        let schema = schemars::schema_for!(GuestSettings).to_value();
        let properties = schema["properties"].as_object().expect("it has fields");
        let all = properties.iter();
        all.map(|(name, property)| Self::new(name, property, &schema))
            .collect()
    }

    fn new(name: &str, property: &Value, schema: &Value) -> Self {
        let text = property["description"].as_str().unwrap_or_default();
        let is_null = |one: &Value| one["type"] == "null" || one == "null";
        let any_of = property["anyOf"].as_array();
        let types = property["type"].as_array();
        let is_nullable = any_of.or(types).is_some_and(|all| all.iter().any(is_null));
        let values = any_of.and_then(|all| all.iter().find(|one| !is_null(one)));
        let kind = Kind::new(values.unwrap_or(property), schema);
        Self {
            name: name.to_owned(),
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            kind: kind
                .unwrap_or_else(|| panic!("the values of {name} are of a new kind: {property}")),
            is_nullable,
        }
    }
}

impl Kind {
    fn new(values: &Value, schema: &Value) -> Option<Self> {
        if let Some(path) = values["$ref"].as_str() {
            if path == "#/$defs/Size" {
                return Some(Self::Size);
            }
            return Self::new(schema.pointer(path.strip_prefix('#')?)?, schema);
        }
        if let Some(words) = words(values) {
            return Some(Self::Word(words));
        }
        let mut types = values["type"].as_array().into_iter().flatten();
        let kind = types
            .find(|kind| *kind != "null")
            .unwrap_or(&values["type"]);
        Some(match kind.as_str()? {
            "boolean" => Self::Flag,
            "integer" => Self::Number(values["minimum"].as_u64()?),
            "string" => Self::Text,
            "object" if values["additionalProperties"]["type"] == "string" => Self::Texts,
            "array" if is_text(&values["items"], schema) => Self::List,
            _ => return None,
        })
    }

    /// Returns the members of a JSON schema that describe the values.
    pub(crate) fn members(&self, is_nullable: bool) -> Map<String, Value> {
        let (kind, mut members) = match self {
            Self::Flag => ("boolean", Value::default()),
            Self::Number(minimum) => ("integer", serde_json::json!({ "minimum": minimum })),
            Self::Size => ("integer", serde_json::json!({ "minimum": 0 })),
            Self::Text => ("string", Value::default()),
            Self::Word(words) => ("", serde_json::json!({ "enum": words })),
            Self::Texts => (
                "object",
                serde_json::json!({ "additionalProperties": { "type": "string" } }),
            ),
            Self::List => (
                "array",
                serde_json::json!({ "items": { "type": "string" } }),
            ),
        };
        if !kind.is_empty() {
            members["type"] = if is_nullable {
                serde_json::json!([kind, "null"])
            } else {
                kind.into()
            };
        }
        members.as_object().cloned().unwrap_or_default()
    }
}

/// Returns true if values are texts.
fn is_text(values: &Value, schema: &Value) -> bool {
    matches!(Kind::new(values, schema), Some(Kind::Text))
}

/// Returns the words of an enumeration; `None` for other values.
fn words(values: &Value) -> Option<Vec<String>> {
    if let Some(words) = values["enum"].as_array() {
        let words = words.iter().map(|word| Some(word.as_str()?.to_owned()));
        return words.collect();
    }
    let variants = values["oneOf"].as_array()?.iter();
    let words = variants.map(|variant| Some(variant["const"].as_str()?.to_owned()));
    words.collect()
}
