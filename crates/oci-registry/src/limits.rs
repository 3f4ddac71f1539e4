use std::time::Duration;

/// Limits on the size of a registry's responses, on the time spent waiting, and on the number of
/// attempts. An error that a limit causes names the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryLimits {
    /// Longest manifest, index or config, in bytes; by default 8 MiB.
    pub document_bytes: u64,
    /// Longest response of a token server, in bytes; by default 1 MiB.
    pub token_bytes: u64,
    /// Largest depth of nested indexes; by default 8.
    pub index_depth: usize,
    /// Most redirects of one request; by default 10.
    pub redirects: usize,
    /// Most attempts at one request while the registry fails temporarily; by default 5.
    pub attempts: u32,
    /// Most interruptions of one blob's download or upload, if each attempt delivers some bytes; by
    /// default 50.
    pub breaks: u32,
    /// Largest blob that is always downloaded in one stream, in bytes; by default 16 MiB. A larger one
    /// is downloaded in ranges if the server has them.
    pub range_from_bytes: u64,
    /// Length of such a range, in bytes; by default 8 MiB.
    pub range_bytes: u64,
    /// Most memory for ranges that arrive before their turn, for all blobs of a repository together, in
    /// bytes; by default 48 MiB. If it is smaller than a range, blobs are downloaded in one stream.
    pub range_memory_bytes: u64,
    /// Most connections for blobs of a repository at once; by default 6. It must not be smaller than
    /// the number of blobs that are downloaded at once, since a blob whose reader waits keeps its
    /// connection.
    pub connections: usize,
    /// Longest pause before the second attempt; it doubles with each further attempt. By default
    /// 500 ms.
    pub first_pause: Duration,
    /// Longest pause, even if the registry asks for a longer one; by default 20 s.
    pub pause: Duration,
    /// Timeout for a connection; by default 15 s.
    pub connect: Duration,
    /// Longest time without bytes of a response; by default 20 s.
    pub idle: Duration,
    /// Longest time for the answer to an upload after its last byte was sent, in which a registry
    /// may compute the digest or copy the blob; by default 300 s.
    pub finish: Duration,
    /// Longest part of a blob that one request uploads if the registry does not take the blob as a
    /// whole, in bytes; by default 16 MiB. It is halved while the registry takes no part.
    pub chunk_bytes: u64,
    /// Shortest such part, in bytes, unless the registry states a larger one; by default 1 MiB.
    pub chunk_min_bytes: u64,
    /// Most stalled or slow responses in a row with less than `pace_bytes` between them; by default
    /// 2.
    pub stalls: u32,
    /// Period over which the rate of a response is measured, counting only time spent waiting for
    /// bytes; by default 60 s.
    pub pace_window: Duration,
    /// Fewest bytes in that period; by default 64 KiB.
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
            range_from_bytes: 16 << 20,
            range_bytes: 8 << 20,
            range_memory_bytes: 48 << 20,
            connections: 6,
            first_pause: Duration::from_millis(500),
            pause: Duration::from_secs(20),
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(20),
            finish: Duration::from_secs(300),
            chunk_bytes: 16 << 20,
            chunk_min_bytes: 1 << 20,
            stalls: 2,
            pace_window: Duration::from_secs(60),
            pace_bytes: 64 << 10,
        }
    }
}
