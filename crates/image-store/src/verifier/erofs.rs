use std::io;
use std::path::Path;

use block_tree::OpenError;
use oci_image::Digest;

use super::{Verifier, unreadable};
use crate::checksum::Checksum;
use crate::record::ErofsRecord;
use crate::tree::{self, ArtifactTree};
use crate::verification::{FileRole, Problem};
use crate::{layout, stamp};

impl Verifier<'_> {
    /// Verifies an EROFS image and its tree. A tree that does not exist, because an older msb wrote
    /// the image, is no damage: it is made in the pass that digests the image.
    pub(super) fn erofs(&mut self, erofs: &ErofsRecord, role: FileRole, image: Option<&Digest>) {
        let tree_file = layout::tree_file(&erofs.file);
        if !self.seen.contains_key(&erofs.file) {
            self.read_erofs(erofs, &tree_file);
        }
        self.artifact(&erofs.file, &erofs.blake3, role, image);
        if let Some(problem) = self.seen.get(&tree_file).cloned() {
            let role = match role {
                FileRole::Unneeded => FileRole::Unneeded,
                _ => FileRole::Tree,
            };
            self.note(self.layout.artifact(&tree_file), role, problem, image);
        }
    }

    /// Reads an EROFS image and its tree, and records the results of both.
    fn read_erofs(&mut self, erofs: &ErofsRecord, tree_file: &str) {
        let opened = tree::open(self.layout, erofs);
        let read = match &opened {
            Ok(Some(tree)) => self.compare(erofs, tree),
            Ok(None) => self.digest(erofs, |path| make_tree(self, erofs, path)),
            Err(_) => self.digest(erofs, |path| has_checksum(path, erofs)),
        };
        let problem = read.unwrap_or_else(|error| Some(unreadable(&error)));
        self.see(&erofs.file, problem);
        match opened {
            Ok(None) => {}
            Ok(Some(_)) => self.see(tree_file, None),
            Err(OpenError::Io(error)) => self.see(tree_file, Some(unreadable(&error))),
            Err(_) => self.see(tree_file, Some(Problem::Changed)),
        }
    }

    /// Compares an image with its tree. Returns the first block that has changed.
    fn compare(&self, erofs: &ErofsRecord, tree: &ArtifactTree) -> io::Result<Option<Problem>> {
        let mut changed = None;
        self.digest(erofs, |path| {
            changed = tree::first_change(path, tree)?;
            Ok(changed.is_none())
        })?;
        Ok(changed.map(Problem::ChangedAt))
    }

    /// Digests an image by `is_right`, unless its stamp proves it.
    fn digest(
        &self,
        erofs: &ErofsRecord,
        is_right: impl FnOnce(&Path) -> io::Result<bool>,
    ) -> io::Result<Option<Problem>> {
        let (file, blake3) = (&erofs.file, &erofs.blake3);
        let is_right = stamp::prove_by(self.layout, file, blake3, self.trust, is_right)?;
        Ok((!is_right).then_some(Problem::Changed))
    }
}

/// Digests an image and makes its tree. A tree that cannot be written, for example because the disk
/// is full, is left to a later verification.
fn make_tree(verifier: &Verifier<'_>, erofs: &ErofsRecord, path: &Path) -> io::Result<bool> {
    match tree::make_alone(verifier.layout, erofs) {
        Ok(Some(is_right)) => Ok(is_right),
        Ok(None) | Err(_) => has_checksum(path, erofs),
    }
}

fn has_checksum(path: &Path, erofs: &ErofsRecord) -> io::Result<bool> {
    Ok(Checksum::compute_file(path)?.0 == erofs.blake3)
}
