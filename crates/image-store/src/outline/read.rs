use std::fs::File;
use std::io::{self, BufReader, Read};

use artifact_file::ArtifactFile;
use erofs_writer::ReadAt as _;
use oci_image::{Digest, Hasher};

use super::varint;
use super::write::next_block;
use crate::layout::{self, Layout};
use crate::record::LayerRecord;

/// A layer's tar, as it was read when the layer was stored.
///
/// Reading fails with `InvalidData`, at the latest where the tar would end, unless its SHA-256 is
/// the layer's diff ID.
pub struct LayerTar {
    image: ArtifactFile,
    outline: zstd::stream::read::Decoder<'static, BufReader<File>>,
    current: Part,
    /// Offset in the image at which the next copy begins at distance 0, in bytes.
    expected_bytes: u64,
    /// `None` after the end was checked.
    hasher: Option<Hasher>,
    diff_id: Digest,
    read_bytes: u64,
    /// Length of the tar, in bytes; `None` if only its digest is known.
    tar_bytes: Option<u64>,
}

/// The rest of the part of the tar that is read next.
enum Part {
    Literal { left_bytes: u64 },
    Copy { offset_bytes: u64, left_bytes: u64 },
    End,
}

impl std::fmt::Debug for LayerTar {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "LayerTar({} at {})",
            self.diff_id, self.read_bytes
        )
    }
}

impl LayerTar {
    /// Opens the tar of a layer that has an outline and this image.
    pub(super) fn open(
        layout: &Layout,
        layer: &LayerRecord,
        image: ArtifactFile,
        tar_bytes: Option<u64>,
    ) -> io::Result<Self> {
        let outline = layout.artifact(&layout::outline_file(&layer.diff_id));
        let outline = fs_err::File::open(outline)?.into_parts().0;
        Ok(Self {
            image,
            outline: zstd::stream::read::Decoder::new(outline)?,
            current: Part::Literal { left_bytes: 0 },
            expected_bytes: 0,
            hasher: Some(Hasher::default()),
            diff_id: layer.diff_id,
            read_bytes: 0,
            tar_bytes,
        })
    }

    /// Returns the length of the tar, in bytes; `None` if only its digest is known.
    pub fn size_bytes(&self) -> Option<u64> {
        self.tar_bytes
    }

    /// Reads instructions until there is a part with bytes, or the end.
    fn advance(&mut self) -> io::Result<()> {
        while let Part::Literal { left_bytes: 0 } | Part::Copy { left_bytes: 0, .. } = self.current
        {
            let instruction = varint::read(&mut self.outline).map_err(|error| self.wrong(error))?;
            self.current = match (instruction & 1, instruction >> 1) {
                (0, 0) => Part::End,
                (0, left_bytes) => Part::Literal { left_bytes },
                (_, left_bytes) => {
                    let distance = varint::read(&mut self.outline);
                    let distance = distance.map_err(|error| self.wrong(error))?;
                    let distance = varint::unzigzag(distance);
                    let offset_bytes = self.expected_bytes.wrapping_add_signed(distance);
                    self.expected_bytes = next_block(offset_bytes.saturating_add(left_bytes));
                    Part::Copy {
                        offset_bytes,
                        left_bytes,
                    }
                }
            };
        }
        Ok(())
    }

    /// Fills the beginning of a buffer from the current part. Returns the number of bytes.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.current {
            Part::End => Ok(0),
            Part::Literal { left_bytes } => {
                let count = at_most(*left_bytes, buffer.len());
                let count = self.outline.read(&mut buffer[..count])?;
                if count == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                *left_bytes -= u64::try_from(count).unwrap_or(*left_bytes);
                Ok(count)
            }
            Part::Copy {
                offset_bytes,
                left_bytes,
            } => {
                let count = at_most(*left_bytes, buffer.len());
                self.image
                    .read_exact_at(&mut buffer[..count], *offset_bytes)?;
                let copied_bytes = u64::try_from(count).unwrap_or(*left_bytes);
                *left_bytes -= copied_bytes;
                *offset_bytes = offset_bytes.saturating_add(copied_bytes);
                Ok(count)
            }
        }
    }

    /// Checks, once, that the bytes that were read are the layer's tar.
    fn check_end(&mut self) -> io::Result<()> {
        let Some(hasher) = self.hasher.take() else {
            return Ok(());
        };
        let has_length = self
            .tar_bytes
            .is_none_or(|tar_bytes| tar_bytes == self.read_bytes);
        if has_length && hasher.finish() == self.diff_id {
            Ok(())
        } else {
            Err(self.wrong("its digest is another"))
        }
    }

    fn wrong(&self, why: impl std::fmt::Display) -> io::Error {
        let diff_id = self.diff_id;
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the store's image and outline of layer {diff_id} do not give its tar: {why}"),
        )
    }
}

fn at_most(left_bytes: u64, length: usize) -> usize {
    usize::try_from(left_bytes).map_or(length, |left| left.min(length))
}

impl Read for LayerTar {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        self.advance()?;
        let count = self.take(buffer).map_err(|error| self.wrong(error))?;
        if count == 0 {
            self.check_end()?;
            return Ok(0);
        }
        self.read_bytes = self
            .read_bytes
            .saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        if self.tar_bytes.is_some_and(|limit| self.read_bytes > limit) {
            return Err(self.wrong("it is longer"));
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&buffer[..count]);
        }
        Ok(count)
    }
}
