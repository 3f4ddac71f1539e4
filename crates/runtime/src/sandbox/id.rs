use std::fmt;

use crate::randomness::random;

/// A sandbox's identity: twelve hex digits of randomness, as docker shows container ids.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct SandboxId(String);

impl SandboxId {
    /// A new one.
    ///
    /// # Errors
    /// When the host's kernel gives no randomness.
    pub fn random() -> std::io::Result<Self> {
        Ok(Self(hex::encode(random::<6>()?)))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SandboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
