use std::time::Duration;

use oci_layers::{Limit, Limits};

/// How much of a registry's answers msb reads, how long it waits for them, and how often it asks.
/// What a limit refuses is named in the error, with the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryLimits {
    /// Longest manifest, index or config, in bytes: 8 MiB.
    pub document_bytes: u64,
    /// Longest answer of a token server, in bytes: 1 MiB.
    pub token_bytes: u64,
    /// How deep indexes may nest: 8.
    pub index_depth: usize,
    /// Most redirects of one request: 10.
    pub redirects: usize,
    /// How often something is asked for in all while the registry fails for the moment: 5.
    pub attempts: u32,
    /// How often one blob may break off in all, while each time some of it comes: 50.
    pub breaks: u32,
    /// Most of the first pause between two attempts; of each further one it is twice as much: 500 ms.
    pub first_pause: Duration,
    /// Longest pause, also where the registry asks for a longer one: 20 s.
    pub pause: Duration,
    /// How long a connection may take to come about: 15 s.
    pub connect: Duration,
    /// How long an answer may stand still: 20 s.
    pub idle: Duration,
    /// How often in a row it may do so, or drip, without more than `pace_bytes` between: 2.
    pub stalls: u32,
    /// Over this much time of waiting for an answer's bytes ...
    pub pace_window: Duration,
    /// ... at least these bytes must come: 64 KiB a minute.
    pub pace_bytes: u64,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        Self {
            document_bytes: 8 << 20,
            token_bytes: 1 << 20,
            index_depth: 8,
            redirects: 10,
            attempts: 5,
            breaks: 50,
            first_pause: Duration::from_millis(500),
            pause: Duration::from_secs(20),
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(20),
            stalls: 2,
            pace_window: Duration::from_secs(60),
            pace_bytes: 64 << 10,
        }
    }
}

impl RegistryLimits {
    /// The same, with what an image's own limits say of its documents.
    pub(crate) fn within(&self, limits: &Limits) -> Self {
        Self {
            document_bytes: limits.get(Limit::ImageDocument),
            index_depth: usize::try_from(limits.get(Limit::ImageIndexes)).unwrap_or(usize::MAX),
            ..self.clone()
        }
    }
}
