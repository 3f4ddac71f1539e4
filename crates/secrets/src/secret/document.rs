//! A secret as a JSON object.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::Secret;
use crate::destination::HttpsDestination;
use crate::name::SecretName;
use crate::placeholder::Placeholder;
use crate::placement::Placement;
use crate::source::SecretSource;
use crate::value::SecretValue;

/// The object, whose keys have defaults that depend on each other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "Secret")]
struct Document {
    name: SecretName,
    to: Vec<HttpsDestination>,
    #[serde(default)]
    from: Option<SecretSource>,
    #[serde(default)]
    every_s: Option<u64>,
    #[serde(default, rename = "in")]
    placement: Option<Placement>,
    #[serde(default, rename = "as")]
    prefix: Option<String>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    placeholder: Option<Placeholder>,
    #[serde(default)]
    value: Option<SecretValue>,
}

/// A source that is not stated is the given value, or the variable of the secret's name.
impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = Document::deserialize(deserializer)?;
        let mut secret = Self::new(document.name, document.to);
        if document.value.is_some() {
            secret.from = SecretSource::Given;
        }
        secret.from = document.from.unwrap_or(secret.from);
        secret.every_s = document.every_s;
        secret.placement = document.placement.unwrap_or_default();
        secret.prefix = document.prefix;
        secret.file = document.file;
        secret.placeholder = document.placeholder;
        secret.value = document.value;
        secret.check().map_err(D::Error::custom)?;
        Ok(secret)
    }
}
