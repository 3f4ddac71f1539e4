//! The packed form of a layer: proven, read, and removed.

use std::io;
use std::path::Path;

use fs_err as fs;
use packed_file::{OpenError, PackedFile};

use super::checksum::Checksum;
use super::form::Form;
use super::kept::remove_file;
use super::layout::{self, Layout};
use super::record::{ErofsRecord, LayerRecord, PackedRecord};
use super::stamp::{self, VerifyMode};

/// Returns true if the packed form of an artifact has its content, and stamps it in that case.
pub(crate) fn prove(layout: &Layout, erofs: &ErofsRecord, trust: VerifyMode) -> io::Result<bool> {
    let file = layout::packed_file(&erofs.file);
    stamp::prove_by(layout, &file, &erofs.blake3, trust, |path| {
        Ok(first_change(path, erofs)?.is_none())
    })
}

/// Returns the offset in the artifact, in bytes, of the first group that the packed form at `path` does not give; `None`
/// if it is intact.
pub(crate) fn first_change(path: &Path, erofs: &ErofsRecord) -> io::Result<Option<u64>> {
    let mut end_bytes = 0;
    let read = for_each_group(path, erofs, &mut |offset_bytes, group| {
        end_bytes = offset_bytes + u64::try_from(group.len()).map_err(io::Error::other)?;
        Ok(())
    });
    match read {
        Ok(()) => Ok(None),
        Err(error) if is_of_damage(&error) => Ok(Some(end_bytes)),
        Err(error) => Err(error),
    }
}

/// Hands out the groups of the artifact whose packed form is at `path`, in order and proven, with the offset of each in
/// bytes.
pub(crate) fn for_each_group(
    path: &Path,
    erofs: &ErofsRecord,
    take: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let content = erofs.content();
    let opened = PackedFile::open(fs::File::open(path)?.into_parts().0, Some(&content.blake3));
    let packed = opened.map_err(|error| match error {
        OpenError::Io(error) => error,
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    })?;
    if packed.plain_bytes() != content.length_bytes {
        let message = "the packed file is that of an artifact of another length";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(packed.for_each_group(take)?)
}

/// Returns true if a packed form cannot be read because its bytes are not those that were written.
pub(crate) fn is_of_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}

/// Removes the packed form of an artifact, its cache file and their stamps, durably. They need not exist.
pub(crate) fn remove_files(layout: &Layout, erofs: &ErofsRecord) -> io::Result<()> {
    let mut is_any = false;
    for file in [
        layout::packed_file(&erofs.file),
        layout::cache_file(&erofs.file),
    ] {
        let path = layout.artifact(&file);
        if fs::exists(&path)? {
            // The next call finds the file as long as it exists.
            remove_file(&layout.stamp(&file))?;
            remove_file(&path)?;
            is_any = true;
        }
    }
    if is_any {
        durable_files::sync_directory(&layout.artifacts())?;
    }
    Ok(())
}

impl PackedRecord {
    /// Returns the record of a layer's packed form, whose own record was lost; `None` if the layer is plain.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn recover(layout: &Layout, layer: &LayerRecord) -> io::Result<Option<Self>> {
        if Form::find(layout, &layer.erofs)? != Some(Form::Packed) {
            return Ok(None);
        }
        let path = layout.artifact(&layout::packed_file(&layer.erofs.file));
        let (blake3, size_bytes) = Checksum::compute_file(&path)?;
        Ok(Some(Self { size_bytes, blake3 }))
    }
}
