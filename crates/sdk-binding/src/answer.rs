use bytes::Bytes;
use serde::Serialize;

use crate::failure::Failure;
use crate::object::{Object, Target};

/// The result of an operation, before it is written as JSON.
pub(crate) struct Answer {
    pub(crate) value: String,
    pub(crate) content: Vec<Bytes>,
    pub(crate) target: Option<Target>,
}

impl Answer {
    /// Returns an answer without a value.
    pub(crate) fn empty() -> Self {
        Self {
            value: "null".to_owned(),
            content: Vec::new(),
            target: None,
        }
    }

    /// Returns an answer with a value.
    ///
    /// # Errors
    ///
    /// The value cannot be written as JSON.
    pub(crate) fn with_value(value: &impl Serialize) -> Result<Self, Failure> {
        let value = serde_json::to_string(value);
        Ok(Self {
            value: value
                .map_err(|error| Failure::internal("cannot write a value as JSON", &error))?,
            ..Self::empty()
        })
    }

    /// Adds bulk data.
    pub(crate) fn with_content(mut self, content: Vec<Bytes>) -> Self {
        self.content = content;
        self
    }

    /// Adds the object that the operation made.
    pub(crate) fn with_object(mut self, object: impl Object) -> Self {
        self.target = Some(Target::new(object));
        self
    }
}
