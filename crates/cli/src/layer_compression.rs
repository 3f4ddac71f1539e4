use clap::ValueEnum;
use msb_sdk::LayerCompression;

/// The compression of layers that leave the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compression {
    /// Every engine reads it
    #[default]
    Gzip,
    /// Smaller and faster
    Zstd,
    /// The tar itself
    None,
}

impl From<Compression> for LayerCompression {
    fn from(compression: Compression) -> Self {
        match compression {
            Compression::Gzip => Self::Gzip,
            Compression::Zstd => Self::Zstd,
            Compression::None => Self::None,
        }
    }
}
