//! The behaviours as data: the file, its variables, and its forms of bytes.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use msb_sdk::Text;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The file of behaviours.
#[derive(Debug, Deserialize)]
pub(super) struct Behaviours {
    format: u32,
    /// The sandbox of every step that names no other.
    pub(super) main: Template,
    /// The sandbox whose main command has ended.
    pub(super) finished: Template,
    /// Files of the host.
    pub(super) files: Vec<HostFile>,
    pub(super) behaviours: Vec<Behaviour>,
}

/// The options of a sandbox, with variables.
#[derive(Debug, Deserialize)]
pub(super) struct Template {
    pub(super) options: Value,
}

/// A file of the host, with variables.
#[derive(Debug, Deserialize)]
pub(super) struct HostFile {
    pub(super) path: Value,
    pub(super) data: Value,
}

/// A behaviour.
#[derive(Debug, Deserialize)]
pub(super) struct Behaviour {
    pub(super) id: String,
    pub(super) steps: Vec<Value>,
}

/// The values of variables, by name.
pub(super) type Variables = BTreeMap<String, Value>;

impl Behaviours {
    /// Reads the file.
    pub(super) fn read() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = root.join("../../sdk/conformance/behaviours.json");
        let read: Self = serde_json::from_slice(&fs_err::read(path)?)?;
        ensure!(read.format == 1, "a file of format {}", read.format);
        Ok(read)
    }
}

/// Returns the bytes of text, bytes or repeated text.
pub(super) fn bytes(value: &Value) -> Result<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Ok(text.into());
    }
    if let Some(encoded) = value["bytes"].as_str() {
        return Ok(STANDARD.decode(encoded)?);
    }
    let text = value["repeat"].as_str().context("neither text nor bytes")?;
    let count = value["count"].as_u64().context("no count")?;
    Ok(text.repeat(usize::try_from(count)?).into())
}

/// Returns a name as the data has it: text, or bytes if it is not UTF-8.
pub(super) fn named(text: &Text) -> Result<Value> {
    Ok(serde_json::to_value(text)?)
}

/// Returns a value with the variables `${name}` replaced. Text that is one variable gets its value.
pub(super) fn filled(value: &Value, variables: &Variables) -> Value {
    match value {
        Value::String(text) => filled_text(text, variables),
        Value::Array(items) => items.iter().map(|item| filled(item, variables)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, field)| (key.clone(), filled(field, variables)))
            .collect::<Map<_, _>>()
            .into(),
        _ => value.clone(),
    }
}

fn filled_text(text: &str, variables: &Variables) -> Value {
    let mut filled = text.to_owned();
    for (name, value) in variables {
        let variable = format!("${{{name}}}");
        if text == variable {
            return value.clone();
        }
        let shown = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        filled = filled.replace(&variable, &shown);
    }
    filled.into()
}
