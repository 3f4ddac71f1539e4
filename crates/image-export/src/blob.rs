use std::io::{self, Read, Seek as _, Write};
use std::path::Path;

use oci_image::{Descriptor, Digest, Hasher, media_type};
use serde::{Deserialize, Serialize};

/// Level of gzip, as of the program of that name.
const GZIP_LEVEL: u32 = 6;
/// Level of zstd, as of the program of that name.
const ZSTD_LEVEL: i32 = 3;
/// Bytes that are compressed at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// The compression of the layers of an OCI layout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LayerCompression {
    /// The tar itself.
    None,
    /// gzip, which every engine reads.
    #[default]
    Gzip,
    /// zstd, which is smaller and faster, and which engines of before 2020 do not read.
    Zstd,
}

impl LayerCompression {
    /// Returns the name under which the store remembers such blobs. It has the level, because another one
    /// gives other bytes.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip-6",
            Self::Zstd => "zstd-3",
        }
    }

    /// Returns the media type of such a layer.
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::None => media_type::OCI_LAYER,
            Self::Gzip => media_type::OCI_LAYER_GZIP,
            Self::Zstd => media_type::OCI_LAYER_ZSTD,
        }
    }
}

/// An error of the tar, or of the file that it is compressed to.
pub(crate) enum CompressError {
    Tar(io::Error),
    File(io::Error),
}

/// A compressed layer in an unnamed file, at its start.
pub(crate) struct Blob {
    pub(crate) file: std::fs::File,
    pub(crate) descriptor: Descriptor,
}

/// Compresses a tar to a file without a name in `directory`. The same tar gives the same bytes.
pub(crate) fn compress(
    tar: &mut dyn Read,
    compression: LayerCompression,
    directory: &Path,
) -> Result<Blob, CompressError> {
    let file = tempfile::tempfile_in(directory).map_err(CompressError::File)?;
    let digested = Digested {
        file: io::BufWriter::with_capacity(PIECE_BYTES, file),
        hasher: Hasher::default(),
        size_bytes: 0,
    };
    let digested = match compression {
        LayerCompression::None => {
            let mut digested = digested;
            copy(tar, &mut digested)?;
            digested
        }
        LayerCompression::Gzip => {
            let level = flate2::Compression::new(GZIP_LEVEL);
            let mut encoder = flate2::write::GzEncoder::new(digested, level);
            copy(tar, &mut encoder)?;
            encoder.finish().map_err(CompressError::File)?
        }
        LayerCompression::Zstd => {
            let encoder = zstd::stream::write::Encoder::new(digested, ZSTD_LEVEL);
            let mut encoder = encoder.map_err(CompressError::File)?;
            copy(tar, &mut encoder)?;
            encoder.finish().map_err(CompressError::File)?
        }
    };
    let (descriptor, file) = digested.finish().map_err(CompressError::File)?;
    Ok(Blob { file, descriptor })
}

fn copy(tar: &mut dyn Read, out: &mut dyn Write) -> Result<(), CompressError> {
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        match tar.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => out
                .write_all(&buffer[..count])
                .map_err(CompressError::File)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(CompressError::Tar(error)),
        }
    }
}

/// A file that is digested while it is written.
struct Digested {
    file: io::BufWriter<std::fs::File>,
    hasher: Hasher,
    size_bytes: u64,
}

impl Digested {
    fn finish(self) -> io::Result<(Descriptor, std::fs::File)> {
        let mut file = self.file.into_inner().map_err(io::Error::from)?;
        file.rewind()?;
        let digest: Digest = self.hasher.finish();
        let size_bytes = self.size_bytes;
        Ok((Descriptor { digest, size_bytes }, file))
    }
}

impl Write for Digested {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hasher.update(bytes.get(..count).unwrap_or(bytes));
        self.size_bytes += u64::try_from(count).unwrap_or(u64::MAX);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
