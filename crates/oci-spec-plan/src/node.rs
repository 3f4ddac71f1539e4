//! Values of a specification that know their paths, so that a refusal can name its field.

use serde_json::{Map, Value};

use crate::error::quoted;
use crate::fields::{ignored, unsupported};
use crate::plan::Note;
use crate::{Refusal, SpecError, json};

/// A value that is not null.
#[derive(Debug)]
pub(crate) struct Node {
    path: String,
    value: Value,
}

/// The fields of an object that were not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    path: String,
    map: Map<String, Value>,
}

impl Node {
    /// Parses a text whose value has this path.
    pub(crate) fn parse(text: &[u8], path: &str) -> Result<Self, SpecError> {
        Ok(Self {
            path: path.to_owned(),
            value: json::parse(text)?,
        })
    }

    /// Returns the fields of an object.
    pub(crate) fn fields(self) -> Result<Fields, Refusal> {
        match self.value {
            Value::Object(map) => Ok(Fields {
                path: self.path,
                map,
            }),
            value => {
                let path = if self.path.is_empty() {
                    "the root"
                } else {
                    &self.path
                };
                Err(Refusal::new(path, &value, "it must be an object", None))
            }
        }
    }

    /// Returns the entries of a list.
    pub(crate) fn list(self) -> Result<Vec<Self>, Refusal> {
        let path = &self.path;
        match self.value {
            Value::Array(values) => Ok(values
                .into_iter()
                .enumerate()
                .map(|(index, value)| Self {
                    path: format!("{path}[{index}]"),
                    value,
                })
                .collect()),
            value => Err(Refusal::new(path, &value, "it must be a list", None)),
        }
    }

    /// Returns the text that the value is.
    pub(crate) fn text(&self) -> Result<&str, Refusal> {
        self.value
            .as_str()
            .ok_or_else(|| self.refuse("it must be a text", None))
    }

    /// Returns the boolean that the value is.
    pub(crate) fn flag(&self) -> Result<bool, Refusal> {
        self.value
            .as_bool()
            .ok_or_else(|| self.refuse("it must be true or false", None))
    }

    /// Returns the whole number that the value is.
    pub(crate) fn number<T: TryFrom<i128>>(&self) -> Result<T, Refusal> {
        let signed = self.value.as_i64().map(i128::from);
        let whole = signed.or_else(|| self.value.as_u64().map(i128::from));
        whole
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| self.refuse("it must be a whole number in the range of its type", None))
    }

    /// Returns true, and notes it, if the field is deliberately ignored.
    pub(crate) fn is_ignored(&self, notes: &mut Vec<Note>) -> bool {
        let reason = ignored(&pattern(&self.path));
        notes.extend(reason.map(|reason| Note {
            path: self.path.clone(),
            reason,
        }));
        reason.is_some()
    }

    /// Returns the refusal of the value.
    pub(crate) fn refuse(&self, reason: &'static str, remedy: Option<&'static str>) -> Refusal {
        Refusal::new(&self.path, &self.value, reason, remedy)
    }
}

impl Fields {
    /// Takes a field; `None` if it is missing or null.
    pub(crate) fn take(&mut self, name: &str) -> Option<Node> {
        let value = self.map.remove(name).filter(|value| !value.is_null())?;
        Some(Node {
            path: join(&self.path, name),
            value,
        })
    }

    /// Takes a field that a specification must have.
    pub(crate) fn require(&mut self, name: &str) -> Result<Node, Refusal> {
        let path = join(&self.path, name);
        self.take(name)
            .ok_or_else(|| Refusal::missing(&path, "the runtime specification requires it"))
    }

    /// Takes an object; `None` if it is missing or null.
    pub(crate) fn object(&mut self, name: &str) -> Result<Option<Self>, Refusal> {
        self.take(name).map(Node::fields).transpose()
    }

    /// Takes a list; empty if it is missing or null.
    pub(crate) fn list(&mut self, name: &str) -> Result<Vec<Node>, Refusal> {
        self.take(name).map_or(Ok(Vec::new()), Node::list)
    }

    /// Takes a list of texts; empty if it is missing or null.
    pub(crate) fn texts(&mut self, name: &str) -> Result<Vec<String>, Refusal> {
        let nodes = self.list(name)?;
        nodes
            .iter()
            .map(|node| node.text().map(str::to_owned))
            .collect()
    }

    /// Takes a text; empty if it is missing or null.
    pub(crate) fn text(&mut self, name: &str) -> Result<String, Refusal> {
        match self.take(name) {
            None => Ok(String::new()),
            Some(node) => node.text().map(str::to_owned),
        }
    }

    /// Takes a boolean; false if it is missing or null.
    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Refusal> {
        self.take(name).map_or(Ok(false), |node| node.flag())
    }

    /// Takes a whole number; `None` if it is missing or null.
    pub(crate) fn number<T: TryFrom<i128>>(&mut self, name: &str) -> Result<Option<T>, Refusal> {
        self.take(name).map(|node| node.number()).transpose()
    }

    /// Returns the fields of a map, by their names.
    pub(crate) fn entries(self) -> impl Iterator<Item = (String, Node)> {
        let path = self.path;
        self.map.into_iter().map(move |(name, value)| {
            let node = Node {
                path: format!("{path}[{}]", quoted(&name)),
                value,
            };
            (name, node)
        })
    }

    /// Refuses the fields that were not taken, unless they are empty or deliberately ignored.
    pub(crate) fn finish(self, notes: &mut Vec<Note>) -> Result<(), Refusal> {
        for (name, value) in &self.map {
            if is_empty(value) {
                continue;
            }
            let path = join(&self.path, name);
            let pattern = pattern(&path);
            if let Some(reason) = ignored(&pattern) {
                notes.push(Note { path, reason });
            } else if let Some(known) = unsupported(&pattern) {
                return Err(Refusal::new(&path, value, known.reason, Some(known.remedy)));
            } else {
                return Err(Refusal::new(&path, value, "the field is not known", None));
            }
        }
        Ok(())
    }
}

/// Returns the path of a field. A name that is not an identifier is quoted.
fn join(path: &str, name: &str) -> String {
    let is_plain = !name.is_empty()
        && name.len() <= 40
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match (path.is_empty(), is_plain) {
        (true, true) => name.to_owned(),
        (false, true) => format!("{path}.{name}"),
        (_, false) => format!("{path}[{}]", quoted(name)),
    }
}

/// Returns a path without the indices of lists, such as `mounts[].type`.
fn pattern(path: &str) -> String {
    let mut parts = path.split('[');
    let mut pattern = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        pattern.push('[');
        pattern.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    pattern
}

/// Returns true for a value that writers of specifications leave out or write for nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_u64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_indices_is_a_pattern() {
        assert_eq!(pattern("mounts[12].options[0]"), "mounts[].options[]");
        assert_eq!(pattern("hooks"), "hooks");
        assert_eq!(join("", "hooks"), "hooks");
        assert_eq!(join("a", "b-c"), "a[\"b-c\"]");
    }

    #[test]
    fn a_field_that_is_not_taken_is_refused_unless_it_is_empty() {
        let finish = |text: &str| {
            let node = Node::parse(text.as_bytes(), "").expect("it is JSON");
            let mut notes = Vec::new();
            let result = node.fields().and_then(|fields| fields.finish(&mut notes));
            result.map(|()| notes)
        };
        let empty = r#"{"a": null, "b": {"c": [], "d": {}}, "e": "", "f": 0, "g": false}"#;
        assert_eq!(finish(empty), Ok(Vec::new()));
        let refusal = finish(r#"{"a": {"b": 1}}"#).expect_err("a is not known");
        assert_eq!(
            refusal.to_string(),
            "a of the container's specification is an object of 1: the field is not known"
        );
        let notes = finish(r#"{"annotations": {"a": "b"}}"#).expect("they are ignored");
        assert_eq!(notes.len(), 1);
    }
}
