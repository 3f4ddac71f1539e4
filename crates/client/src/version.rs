use serde::{Deserialize, Serialize};

/// The versions of this library, with the keys of `msb version --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Version {
    /// The version of msb.
    pub msb: String,
    /// The version of the store's format.
    pub store_format: u32,
    /// The version of the protocol between host and guest agent.
    pub agent_protocol: u32,
    /// The digest of the guest agent, which identifies the build.
    pub agent: String,
    /// The id of the build: programs and libraries with one id understand each other.
    #[serde(default)]
    pub build: String,
    /// The format in which a start is described to the virtual machine's process.
    #[serde(default)]
    pub launch_format: u32,
    /// The operating system.
    pub os: String,
    /// The processor architecture.
    pub architecture: String,
}

/// Returns the versions of this library.
pub fn version() -> Version {
    Version {
        msb: env!("CARGO_PKG_VERSION").to_owned(),
        store_format: image_store::FORMAT_VERSION,
        agent_protocol: msb_agent_protocol::VERSION,
        agent: msb_runtime::agent_identity(),
        build: msb_runtime::BUILD.to_owned(),
        launch_format: msb_runtime::LAUNCH_FORMAT,
        os: std::env::consts::OS.to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
    }
}
