//! The options of a runtime in containerd's configuration, package `runtimeoptions.v1`.

use prost::Message;

use crate::Named;

/// The options of a runtime.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Options {
    /// The type of the configuration, as its author names it.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The path of a configuration file.
    #[prost(string, tag = "2")]
    pub config_path: String,
    /// The runtime's section of containerd's configuration, in TOML, if no path is given.
    #[prost(bytes = "vec", tag = "3")]
    pub config_body: Vec<u8>,
}

impl Named for Options {
    const TYPE_NAME: &'static str = "runtimeoptions.v1.Options";
}
