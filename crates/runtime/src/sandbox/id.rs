use std::fmt;

use durable_files::random;

/// A sandbox's identity: 12 random hexadecimal digits, the length of docker's short container ids.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct SandboxId(String);

impl SandboxId {
    /// Returns a new random id.
    ///
    /// # Errors
    /// If the host's kernel gives no randomness.
    pub fn random() -> std::io::Result<Self> {
        Ok(Self(hex::encode(random::<6>()?)))
    }

    /// Returns the 12 digits as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SandboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
