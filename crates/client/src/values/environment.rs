use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Text;
use crate::Error;

/// Environment variables of a command, in the order in which they were given.
/// In JSON they are an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment(Vec<(String, Text)>);

impl Environment {
    /// Sets a variable. A later value replaces an earlier one, in its place.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Text>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some((_, earlier)) => *earlier = value,
            None => self.0.push((name, value)),
        }
    }

    /// Returns true if there are no variables.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the variables.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Text)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns each variable as `NAME=value`.
    ///
    /// # Errors
    /// A name that is empty or contains `=` or NUL, or a value with NUL.
    pub fn settings(&self) -> Result<Vec<Vec<u8>>, Error> {
        self.0
            .iter()
            .map(|(name, value)| {
                if name.is_empty() || name.contains(['=', '\0']) {
                    let message = format!("'{name}' is not the name of an environment variable");
                    return Err(Error::invalid(crate::printable(&message)));
                }
                if value.as_bytes().contains(&0) {
                    let message = format!("the environment variable {name} contains a NUL byte");
                    return Err(Error::invalid(message));
                }
                Ok([name.as_bytes(), b"=", value.as_bytes()].concat())
            })
            .collect()
    }
}

impl<N: Into<String>, V: Into<Text>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let mut environment = Self::default();
        for (name, value) in variables {
            environment.set(name, value);
        }
        environment
    }
}

impl Serialize for Environment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

struct Variables;

impl<'de> Visitor<'de> for Variables {
    type Value = Environment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of environment variables")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Environment, A::Error> {
        let mut environment = Environment::default();
        while let Some((name, value)) = map.next_entry::<String, Text>()? {
            environment.set(name, value);
        }
        Ok(environment)
    }
}

impl<'de> Deserialize<'de> for Environment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Variables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_variables_is_kept() {
        let json = r#"{"Z":"1","A":"2","Z":"3"}"#;
        let environment: Environment = serde_json::from_str(json).expect("read");
        let settings = environment.settings().expect("good names");
        assert_eq!(settings, [b"Z=3".to_vec(), b"A=2".to_vec()]);
        let written = serde_json::to_string(&environment).expect("written");
        assert_eq!(written, r#"{"Z":"3","A":"2"}"#);
    }

    #[test]
    fn names_and_values_that_cannot_be_passed_are_refused() {
        for (name, value) in [("", "x"), ("A=B", "x"), ("A", "x\0y"), ("A\0", "x")] {
            let environment: Environment = [(name, value)].into_iter().collect();
            assert!(environment.settings().is_err(), "{name:?}={value:?}");
        }
    }
}
