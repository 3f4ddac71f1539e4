use std::collections::HashSet;
use std::io;
use std::path::Path;

use fstree::{InodeId, Tree};
use msb_agent_protocol::v1::{FileStat, FileType};
use msb_runtime::{RuleState, Rules, Sandbox, staged, staged_targets};
use msb_sandbox_snapshots::StagedLayer;
use rootfs_view::{Content, View};
use staged_image::Listing;

use super::images::LetInImage;
use super::{AllowError, Place};
use crate::disks::{DiskReader, open_file};

/// The most files that are let in at a time. The sandbox is asked for each of them.
const FILES_MAX: usize = 20_000;

/// Files of the host that a rule lets into a sandbox.
pub(super) struct Found {
    sandbox: Sandbox,
    pub(super) place: Place,
    listing: Listing,
    targets: Vec<Vec<u8>>,
    /// The rules before.
    rules: Rules,
    /// The staged files, as they were when they were staged.
    staged: View<DiskReader>,
    /// The files that were let in since.
    let_in: Vec<View<DiskReader>>,
    /// Paths of files and directories that the sandbox has.
    pub(super) present: HashSet<Vec<u8>>,
}

/// An image of files that are let in, and the files that are to be copied into the sandbox.
pub(super) struct Written {
    pub(super) image: LetInImage,
    pub(super) copied: Copied,
}

/// Files of an image that are copied into a sandbox.
pub(super) struct Copied {
    pub(super) view: View<DiskReader>,
    /// The paths in the sandbox of the files that it does not have, without a slash at the beginning and without
    /// those in directories among them.
    pub(super) tops: Vec<Vec<u8>>,
}

impl Found {
    /// Lists the files of the host that the rule of a place lets in: those at and below its path that are not
    /// among the staged files. None is read.
    pub(super) fn new(sandbox: Sandbox, place: Place) -> Result<Self, AllowError> {
        let targets = staged_targets(&sandbox.spec.mounts);
        let rules = staged(&sandbox.spec.mounts).nth(place.number);
        let rules = rules.map_or_else(|| Ok(Rules::new()), |(_, staged)| staged.all_rules());
        let open = |path: &Path| -> Result<View<DiskReader>, AllowError> {
            let (image, _) = open_file(path).map_err(AllowError::Image)?;
            Ok(View::open_staged_image(image, &targets)?)
        };
        let layer = StagedLayer::current(&sandbox.files).map_err(AllowError::Image)?;
        let missing = || AllowError::Image(io::ErrorKind::NotFound.into());
        let layer = layer.ok_or_else(missing)?;
        let staged = open(&layer.image)?;
        let let_in = layer.let_in.iter().map(|path| open(path));
        let let_in = let_in.collect::<Result<_, _>>()?;
        let mut with_rule = sandbox.clone();
        with_rule.spec.add_rule(&place.target, place.rule.clone())?;
        let mut found = Self {
            listing: with_rule.list_staged().map_err(Box::new)?,
            sandbox,
            place,
            targets,
            rules: rules?,
            staged,
            let_in,
            present: HashSet::new(),
        };
        let (place, rules, tree) = (&found.place, &found.rules, found.staged.tree());
        found.listing.retain(|number, path| {
            let is_new = || {
                tree.find(&place.in_sandbox(path)).is_none()
                    || rules.decide(path).state == RuleState::Deny
            };
            number == place.number && is_at_or_below(path, &place.path) && is_new()
        });
        Ok(found)
    }

    /// Returns the paths of the files, relative to the staged directory, and true for directories.
    pub(super) fn files(&self) -> Result<Vec<(Vec<u8>, bool)>, AllowError> {
        let files = self.listing.files();
        let files: Vec<_> = files
            .filter(|(number, path, _)| *number == self.place.number && self.is_given(path))
            .map(|(_, path, is_directory)| (path, is_directory))
            .take(FILES_MAX + 1)
            .collect();
        if files.len() > FILES_MAX {
            return Err(AllowError::TooMany { limit: FILES_MAX });
        }
        Ok(files)
    }

    /// Returns true if the files that the sandbox began with have an empty file or directory in the place of a
    /// path.
    pub(super) fn is_denied(&self, path: &[u8]) -> bool {
        let staged = self.staged.tree();
        staged.find(&self.place.in_sandbox(path)).is_some()
            && self.rules.decide(path).state == RuleState::Deny
    }

    /// Returns true if a file of the sandbox has the attributes of the host's, and no image has it: a command that was
    /// interrupted copied it. It can be copied again.
    pub(super) fn was_copied(&self, path: &[u8], stat: &FileStat) -> bool {
        let in_sandbox = self.place.in_sandbox(path);
        let mut images = self.let_in.iter();
        if images.any(|view| view.tree().find(&in_sandbox).is_some()) {
            return false;
        }
        let file = self.listing.regular_file(self.place.number, path);
        file.is_some_and(|(metadata, size_bytes)| {
            let expected = FileStat {
                r#type: FileType::Regular.into(),
                mode: metadata.mode.into(),
                uid: metadata.uid,
                gid: metadata.gid,
                size: size_bytes,
                mtime_s: metadata.mtime.seconds,
                mtime_ns: metadata.mtime.nanoseconds,
                ..FileStat::default()
            };
            *stat == expected
        })
    }

    /// Returns true if the staged files do not have the path, or have it denied.
    fn is_given(&self, path: &[u8]) -> bool {
        let staged = self.staged.tree();
        staged.find(&self.place.in_sandbox(path)).is_none() || self.is_denied(path)
    }

    /// Writes the image of the files that the sandbox does not have; `None` if there are none.
    pub(super) fn write(mut self) -> Result<Option<Written>, AllowError> {
        let present = &self.present;
        self.listing.retain(|_, path| !present.contains(path));
        let files = self.listing.files();
        let tops: Vec<Vec<u8>> = files
            .filter(|(number, path, _)| *number == self.place.number && self.is_given(path))
            .filter(|(_, path, _)| !present.contains(path))
            .map(|(_, path, _)| path)
            .collect();
        let mut due: Vec<Vec<u8>> = Vec::new();
        for path in tops {
            if due.last().is_none_or(|last| !is_at_or_below(&path, last)) {
                due.push(path);
            }
        }
        if due.is_empty() {
            return Ok(None);
        }
        let mut image = LetInImage::write(&self.sandbox, &mut self.listing)?;
        let disk = image.open().map_err(AllowError::Image)?;
        let view = View::open_staged_image(disk, &self.targets)?;
        let in_sandbox = due.iter().map(|path| {
            let path = self.place.in_sandbox(path);
            path.strip_prefix(b"/").unwrap_or(&path).to_vec()
        });
        // A file that was removed while it was read is not in the image.
        let is_there = |path: &Vec<u8>| find(view.tree(), path).is_some();
        let tops = in_sandbox.filter(is_there).collect();
        let copied = Copied { view, tops };
        Ok(Some(Written { image, copied }))
    }
}

fn find(tree: &Tree<Content>, path: &[u8]) -> Option<InodeId> {
    tree.find(path)
}

/// Returns true if a path is another one, or is below it. Every path is below an empty one.
fn is_at_or_below(path: &[u8], above: &[u8]) -> bool {
    above.is_empty()
        || path
            .strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}
