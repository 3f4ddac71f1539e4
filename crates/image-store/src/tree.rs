//! Trees of artifacts: files beside EROFS images that prove any range of an image against the
//! checksum in its record. They need no record of their own.

use std::io;
use std::path::{Path, PathBuf};

use block_tree::{BlockTree, OpenError, TreeWriter, VerifyError};
use fs_err as fs;
use fstree::ReadAt;

use super::checksum::{Checksum, for_each_piece};
use super::form;
use super::layout::{self, Layout};
use super::record::ErofsRecord;
use super::session::Session;

/// Bytes of an image that are read and verified at once: whole groups.
const PIECE_BYTES: usize = 256 * 1024;

/// The open tree of an artifact.
pub type ArtifactTree = BlockTree<std::fs::File>;

/// Returns the path of the tree of an EROFS image, beside it.
pub fn path(image: &Path) -> PathBuf {
    image.with_extension("tree")
}

/// Opens the tree of an EROFS image in the store; `None` if it does not exist, because an older msb
/// wrote the image.
///
/// # Errors
/// If the tree cannot be read, or is not that of the image.
pub fn open(layout: &Layout, erofs: &ErofsRecord) -> Result<Option<ArtifactTree>, OpenError> {
    let path = layout.artifact(&layout::tree_file(&erofs.file));
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(OpenError::Io)?.into_parts().0,
    };
    BlockTree::open(file, &erofs.content()).map(Some)
}

/// Writes the tree of an EROFS image to a new file, which is not yet synced. Returns the file, and
/// the checksum and length in bytes of the image.
///
/// # Errors
/// If the image cannot be read or the tree cannot be written.
pub fn write(image: &Path, tree: &Path) -> io::Result<(fs::File, Checksum, u64)> {
    let mut writer = TreeWriter::new(durable_files::create(tree)?)?;
    for_each_piece(image, |piece| writer.update(piece))?;
    let (tree, content) = writer.finish()?;
    let checksum = Checksum::from_bytes(content.blake3);
    Ok((tree, checksum, content.length_bytes))
}

/// Makes the tree of an EROFS image in the store anew, durably. Returns false, and changes nothing,
/// if the image is damaged.
///
/// # Errors
/// If the image cannot be read or the tree cannot be written.
pub fn make(layout: &Layout, session: &Session, erofs: &ErofsRecord) -> io::Result<bool> {
    let file = layout::tree_file(&erofs.file);
    let unfinished = session.path(&file);
    let mut writer = TreeWriter::new(durable_files::create(&unfinished)?)?;
    let image = form::open(layout, erofs);
    let read = image.and_then(|image| for_each_piece_of(&image, |piece| writer.update(piece)));
    match read {
        // A packed image says itself that it is damaged.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(false),
        read => read?,
    }
    let (tree, content) = writer.finish()?;
    if content != erofs.content() {
        return Ok(false);
    }
    tree.sync_all()?;
    durable_files::rename_all(&[(&unfinished, &layout.artifact(&file))])?;
    Ok(true)
}

/// Reads an open image, and calls `take` with each piece of it in order.
fn for_each_piece_of(
    image: &impl ReadAt,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let (mut at_bytes, end_bytes) = (0, image.size_bytes()?);
    let mut buffer = vec![0; PIECE_BYTES];
    while at_bytes < end_bytes {
        let left = usize::try_from(end_bytes - at_bytes).unwrap_or(PIECE_BYTES);
        let (piece, _) = buffer.split_at_mut(left.min(PIECE_BYTES));
        image.read_exact_at(piece, at_bytes)?;
        take(piece)?;
        at_bytes += u64::try_from(piece.len()).unwrap_or(u64::MAX);
    }
    Ok(())
}

/// Makes the tree of an EROFS image as [`make`] does, in a session of its own; `None` if a removal is
/// in progress.
pub(crate) fn make_alone(layout: &Layout, erofs: &ErofsRecord) -> io::Result<Option<bool>> {
    let session = Session::try_begin(layout)?;
    let made = session.map(|session| make(layout, &session, erofs));
    made.transpose()
}

/// Returns the offset in bytes of the first block of an image that is not the one that was written;
/// `None` if the image is intact.
pub(crate) fn first_change(image: &Path, tree: &ArtifactTree) -> io::Result<Option<u64>> {
    let file = fs::File::open(image)?;
    let (actual_bytes, expected_bytes) = (file.metadata()?.len(), tree.length_bytes());
    let mut buffer = vec![0; PIECE_BYTES];
    let mut at_bytes = 0;
    while at_bytes < expected_bytes {
        let left = usize::try_from(expected_bytes - at_bytes).unwrap_or(PIECE_BYTES);
        let (piece, _) = buffer.split_at_mut(left.min(PIECE_BYTES));
        match file.file().read_exact_at(piece, at_bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(Some(at_bytes));
            }
            read => read?,
        }
        match tree.verify(at_bytes, piece) {
            Err(VerifyError::Block { offset_bytes }) => return Ok(Some(offset_bytes)),
            verified => verified.map_err(io::Error::other)?,
        }
        at_bytes += u64::try_from(piece.len()).unwrap_or(u64::MAX);
    }
    Ok((actual_bytes != expected_bytes).then_some(expected_bytes))
}
