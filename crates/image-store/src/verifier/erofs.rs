use std::io;
use std::path::Path;

use block_tree::OpenError;
use oci_image::Digest;

use super::{Verifier, unreadable};
use crate::checksum::Checksum;
use crate::form::Form;
use crate::record::ErofsRecord;
use crate::tree::{self, ArtifactTree};
use crate::verification::{FileRole, Problem};
use crate::{layout, packed, stamp};

impl Verifier<'_> {
    /// Verifies an EROFS image, in the form that it has, and its tree. A tree that does not exist, because an older msb
    /// wrote the image, is no damage: it is made in the pass that digests the image.
    pub(super) fn erofs(&mut self, erofs: &ErofsRecord, role: FileRole, image: Option<&Digest>) {
        let tree_file = layout::tree_file(&erofs.file);
        let file = self.read_form(erofs, &tree_file);
        self.artifact(&file, &erofs.blake3, role, image);
        if let Some(problem) = self.seen.get(&tree_file).cloned() {
            let role = match role {
                FileRole::Unneeded => FileRole::Unneeded,
                _ => FileRole::Tree,
            };
            self.note(self.layout.artifact(&tree_file), role, problem, image);
        }
    }

    /// Reads an EROFS image in the form that it has, unless it was read. Returns the name of the file.
    fn read_form(&mut self, erofs: &ErofsRecord, tree_file: &str) -> String {
        let packed_file = Form::Packed.file(erofs);
        for file in [&erofs.file, &packed_file] {
            if self.seen.contains_key(file) {
                return file.clone();
            }
        }
        // Another process may change the form before the file is opened. An image that has neither is missed as a plain
        // one.
        let find = |verifier: &Self| Form::find(verifier.layout, erofs).ok().flatten();
        let mut form = find(self).unwrap_or(Form::Plain);
        loop {
            let problem = self.read_erofs(erofs, form, tree_file);
            let now = find(self).unwrap_or(form);
            if problem != Some(Problem::Missing) || now == form {
                let file = form.file(erofs);
                self.see(&file, problem);
                return file;
            }
            form = now;
        }
    }

    /// Reads an EROFS image and its tree. Records the result of the tree, and returns that of the image.
    fn read_erofs(&mut self, erofs: &ErofsRecord, form: Form, tree_file: &str) -> Option<Problem> {
        let opened = tree::open(self.layout, erofs);
        let read = match (form, &opened) {
            (Form::Packed, opened) => self.decompress(erofs, matches!(opened, Ok(None))),
            (Form::Plain, Ok(Some(tree))) => self.compare(erofs, tree),
            (Form::Plain, Ok(None)) => self.digest(erofs, |path| make_tree(self, erofs, path)),
            (Form::Plain, Err(_)) => self.digest(erofs, |path| has_checksum(path, erofs)),
        };
        match opened {
            Ok(None) => {}
            Ok(Some(_)) => self.see(tree_file, None),
            Err(OpenError::Io(error)) => self.see(tree_file, Some(unreadable(&error))),
            Err(_) => self.see(tree_file, Some(Problem::Changed)),
        }
        read.unwrap_or_else(|error| Some(unreadable(&error)))
    }

    /// Compares all groups of a packed image with its checksum, and makes its tree if that does not exist. Returns the
    /// first group that is damaged.
    fn decompress(&self, erofs: &ErofsRecord, has_no_tree: bool) -> io::Result<Option<Problem>> {
        let mut changed = None;
        let (file, blake3) = (Form::Packed.file(erofs), &erofs.blake3);
        let is_right = stamp::prove_by(self.layout, &file, blake3, self.trust, |path| {
            changed = packed::first_change(path, erofs)?;
            Ok(changed.is_none())
        })?;
        if is_right && has_no_tree {
            // A tree that cannot be written is left to a later verification.
            let _ = tree::make_alone(self.layout, erofs);
        }
        Ok(changed.map(Problem::ChangedAt))
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
