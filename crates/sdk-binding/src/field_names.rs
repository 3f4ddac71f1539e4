//! The names of a structure's fields, as its `Deserialize` tells them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

/// Returns the names of the fields of `T`; empty if `T` is not a structure with named fields.
pub(crate) fn field_names<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // The probe always refuses; what counts is what it was asked for.
    let _refused = T::deserialize(Probe { names: &mut names });
    names
}

struct Probe<'a> {
    names: &'a mut &'static [&'static str],
}

#[derive(Debug)]
struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the probe holds no value")
    }
}

impl std::error::Error for Refused {}

impl Error for Refused {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self
    }
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Refused> {
        Err(Refused)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Refused> {
        *self.names = fields;
        Err(Refused)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::field_names;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only the names of the fields are read")]
    struct Example {
        path: String,
        #[serde(rename = "mode")]
        bits: u32,
    }

    #[test]
    fn the_names_are_those_of_the_json() {
        assert_eq!(field_names::<Example>(), ["path", "mode"]);
        assert!(field_names::<String>().is_empty());
    }
}
