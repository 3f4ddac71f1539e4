use super::Unit;

/// A bounded quantity of an image, of its layers or of their entries, or of a sandbox's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Number of layers of an image.
    ImageLayers,
    /// Bytes of all layers, uncompressed.
    ImageBytes,
    /// Number of names in all layers.
    ImageEntries,
    /// Bytes of a manifest, an index or a config.
    ImageDocument,
    /// Number of indexes that lead to indexes.
    ImageIndexes,
    /// Number of files in an archive from which images are loaded.
    ArchiveFiles,
    /// Bytes of one layer, uncompressed.
    LayerBytes,
    /// Uncompressed bytes of a layer for each compressed byte, from [`Limit::LayerRatioFrom`] on.
    LayerRatio,
    /// Uncompressed bytes of a layer below which `Limit::LayerRatio` does not apply.
    LayerRatioFrom,
    /// Time that one layer takes, in seconds.
    LayerTime,
    /// Window of a zstd frame in bytes, which determines the memory that it takes.
    LayerWindow,
    /// Number of names in a layer, including implied directories and markers.
    LayerEntries,
    /// Approximate memory for names, attributes and locations of content, in bytes.
    LayerMetadata,
    /// Growth in bytes of the targets of hard links to lower files when symlinks are followed.
    LayerTargets,
    /// Bytes after the two zero blocks that end the archive.
    LayerTrailing,
    /// Number of notes that are kept; further notes are only counted.
    LayerNotes,
    /// Bytes of one path or link target.
    EntryPath,
    /// Number of components of one path, including those of the symlinks that it passes.
    EntryDepth,
    /// Number of symlinks on one path, or of later hard links that lead to each other.
    EntryLinks,
    /// Bytes of one PAX header, GNU long name or sparse map.
    EntryRecord,
    /// Bytes of one file's xattrs, names and values together.
    EntryXattrs,
    /// Number of data segments in one sparse file.
    EntrySegments,
    /// Approximate memory for names, xattrs, extents and the journal of a sandbox's disk, in bytes.
    DiskMetadata,
}

/// Name, unit, default and description of a limit.
type Row = (&'static str, Unit, u64, &'static str);

impl Limit {
    /// All limits, in the order in which they are listed.
    pub const ALL: [Self; 23] = [
        Self::ImageLayers,
        Self::ImageBytes,
        Self::ImageEntries,
        Self::ImageDocument,
        Self::ImageIndexes,
        Self::ArchiveFiles,
        Self::LayerBytes,
        Self::LayerRatio,
        Self::LayerRatioFrom,
        Self::LayerTime,
        Self::LayerWindow,
        Self::LayerEntries,
        Self::LayerMetadata,
        Self::LayerTargets,
        Self::LayerTrailing,
        Self::LayerNotes,
        Self::EntryPath,
        Self::EntryDepth,
        Self::EntryLinks,
        Self::EntryRecord,
        Self::EntryXattrs,
        Self::EntrySegments,
        Self::DiskMetadata,
    ];

    #[rustfmt::skip]
    const fn row(self) -> Row {
        use Unit::{Bytes, Count, Seconds};
        match self {
            Self::ImageLayers => ("image-layers", Count, 900, "number of layers"),
            Self::ImageBytes => ("image-bytes", Bytes, 4 << 40, "size of all layers together, uncompressed"),
            Self::ImageEntries => ("image-entries", Count, 16_000_000, "number of names in all layers"),
            Self::ImageDocument => ("image-document", Bytes, 8 << 20, "size of a manifest, an index or a config"),
            Self::ImageIndexes => ("image-indexes", Count, 8, "depth of nested indexes"),
            Self::ArchiveFiles => ("archive-files", Count, 100_000, "number of files in an archive of images"),
            Self::LayerBytes => ("layer-bytes", Bytes, 1 << 40, "size of a layer, uncompressed"),
            Self::LayerRatio => ("layer-ratio", Count, 200, "expansion of a layer beyond layer-ratio-from"),
            Self::LayerRatioFrom => ("layer-ratio-from", Bytes, 4 << 30, "size of a layer whose expansion does not matter"),
            Self::LayerTime => ("layer-time", Seconds, 12 * 3600, "time that a layer takes"),
            Self::LayerWindow => ("layer-window", Bytes, 128 << 20, "window of a zstd frame"),
            Self::LayerEntries => ("layer-entries", Count, 4_000_000, "number of names in a layer"),
            Self::LayerMetadata => ("layer-metadata", Bytes, 2 << 30, "memory for a layer's metadata"),
            Self::LayerTargets => ("layer-targets", Bytes, 16 << 20, "growth of link targets by the symlinks on their way"),
            Self::LayerTrailing => ("layer-trailing", Bytes, 64 << 20, "number of bytes after the end of a layer's archive"),
            Self::LayerNotes => ("layer-notes", Count, 1000, "number of notes on a layer that are kept"),
            Self::EntryPath => ("entry-path", Bytes, 16 << 10, "length of a path or link target"),
            Self::EntryDepth => ("entry-depth", Count, 4096, "depth of a path with its symlinks followed"),
            Self::EntryLinks => ("entry-links", Count, 40, "number of links on a way"),
            Self::EntryRecord => ("entry-record", Bytes, 1 << 20, "length of a PAX header, GNU long name or sparse map"),
            Self::EntryXattrs => ("entry-xattrs", Bytes, 256 << 10, "size of a file's xattrs"),
            Self::EntrySegments => ("entry-segments", Count, 1 << 17, "number of data segments in a sparse file"),
            Self::DiskMetadata => ("disk-metadata", Bytes, 256 << 20, "memory for the metadata of a sandbox's disk"),
        }
    }

    /// Returns the name in messages and on the command line. It is stable.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the unit of the limit's value.
    pub const fn unit(self) -> Unit {
        self.row().1
    }

    /// Returns the value of a limit that is not set. It is above every known real image.
    pub const fn default_value(self) -> u64 {
        self.row().2
    }

    /// Returns a description of the quantity, such as "length of a path".
    pub const fn description(self) -> &'static str {
        self.row().3
    }

    /// Returns the limit's index in [`Limit::ALL`].
    #[expect(clippy::as_conversions, reason = "an enum of few variants")]
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

impl From<tar_stream::Limit> for Limit {
    fn from(limit: tar_stream::Limit) -> Self {
        match limit {
            tar_stream::Limit::Path => Self::EntryPath,
            tar_stream::Limit::Record => Self::EntryRecord,
            tar_stream::Limit::Segments => Self::EntrySegments,
            tar_stream::Limit::Trailing => Self::LayerTrailing,
        }
    }
}
