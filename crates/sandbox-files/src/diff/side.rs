use std::collections::HashSet;
use std::sync::Arc;

use fstree::{Inode, InodeId, Segment, Tree};
use image_store::StoredImage;
use msb_guest_trust::TrustFiles;
use msb_runtime::{Base, Home, Mount, Sandbox};
use rootfs_view::{Content, ContentError, Origin};
use tree_diff::Side;

use super::DiffError;
use super::given::{Given, given_files};
use super::own::own_inodes;
use crate::disks::{Disks, Lower, OpenUpper};
use crate::{DisksError, SandboxAtRest};

/// The two filesystems that a sandbox's changes are on, as far as they were asked for.
#[derive(Debug, Clone)]
pub(crate) struct Sides {
    pub(crate) root: Option<DiskSide>,
    /// The staged directories, each at its path; `None` also if the sandbox has none.
    pub(crate) staged: Option<DiskSide>,
}

/// The filesystems of a sandbox that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) root: bool,
    pub(crate) staged: bool,
}

/// A root filesystem, or staged directories, on disks.
#[derive(Debug, Clone)]
pub struct DiskSide {
    disks: Arc<Disks>,
    /// True if the side is the image without the sandbox's writes.
    is_image: bool,
    /// The inodes of mount points that msb itself made.
    own: HashSet<InodeId>,
    /// The files that msb gave the guest for its secrets and its trust.
    given: Given,
}

impl DiskSide {
    /// Opens a sandbox.
    pub(crate) fn of_sandbox(at_rest: SandboxAtRest, home: &Home) -> Result<Self, DiffError> {
        let sandbox = at_rest.sandbox.clone();
        let has_overlay = at_rest.sandbox.check_has_overlay();
        let opened = has_overlay.map_err(DisksError::from);
        let opened = opened.and_then(|()| Disks::of_sandbox(at_rest, home));
        let disks = opened.map_err(|source| DiffError::Sandbox {
            name: sandbox.spec.name.clone(),
            source,
        })?;
        let side = Self::of_disks(Arc::new(disks), &sandbox.spec.mounts);
        Ok(side.with_given(&sandbox))
    }

    /// Opens the root filesystem of a sandbox and its staged directories.
    pub(crate) fn open_both(
        at_rest: SandboxAtRest,
        home: &Home,
        parts: Parts,
    ) -> Result<Sides, DiffError> {
        let sandbox = at_rest.sandbox.clone();
        let has_parts = if parts.root {
            at_rest.sandbox.check_has_overlay()
        } else {
            at_rest.sandbox.check_has_image()
        };
        let opened = has_parts.map_err(DisksError::from);
        let opened = opened.and_then(|()| {
            let upper = OpenUpper::new(at_rest)?;
            let root = parts.root.then(|| upper.root(home)).transpose()?;
            let staged = parts.staged.then(|| upper.staged(home)).transpose()?;
            Ok((root, staged.flatten()))
        });
        let (root, staged) = opened.map_err(|source| DiffError::Sandbox {
            name: sandbox.spec.name.clone(),
            source,
        })?;
        let side = |disks| Self::of_disks(Arc::new(disks), &sandbox.spec.mounts);
        Ok(Sides {
            root: root.map(|disks| side(disks).with_given(&sandbox)),
            staged: staged.map(side),
        })
    }

    /// Opens the files that a sandbox began with.
    pub(crate) fn of_base(&self, sandbox: &Sandbox, home: &Home) -> Result<Self, DiffError> {
        let disks_error = |source| DiffError::Base {
            name: sandbox.spec.name.clone(),
            source,
        };
        let base = sandbox.base().map_err(DisksError::from);
        let Base::Disk(disk) = base.map_err(disks_error)? else {
            return Ok(self.image_below());
        };
        let disks = Disks::of_base(sandbox, disk, home).map_err(disks_error)?;
        Ok(Self {
            own: own_inodes(&disks.view, &sandbox.spec.mounts),
            given: Given::new(),
            disks: Arc::new(disks),
            is_image: false,
        })
    }

    /// Returns an image of staged directories, without a sandbox's changes, as one side.
    pub(crate) fn of_image_alone(disks: Arc<Disks>) -> Self {
        Self {
            disks,
            is_image: true,
            own: HashSet::new(),
            given: Given::new(),
        }
    }

    /// Returns the disks of a sandbox as one side.
    pub(crate) fn of_disks(disks: Arc<Disks>, mounts: &[Mount]) -> Self {
        Self {
            own: own_inodes(&disks.view, mounts),
            given: Given::new(),
            disks,
            is_image: false,
        }
    }

    /// Returns the root filesystem of a sandbox with the files that msb gave the guest known as such.
    pub(crate) fn with_given(self, sandbox: &Sandbox) -> Self {
        // If it cannot be told what the guest was given, the file is shown.
        let bundle = TrustFiles::read_bundle(sandbox.directory()).unwrap_or_default();
        let given = given_files(&self.disks.view, &sandbox.spec, bundle.as_ref());
        Self { given, ..self }
    }

    /// Returns true if msb gave the guest this file at this path, or made this directory for one.
    pub(crate) fn is_given(&self, path: &[u8], id: InodeId) -> bool {
        self.given.get(path) == Some(&id)
    }

    /// Returns true if msb gave the guest a file.
    pub(crate) fn has_given(&self) -> bool {
        !self.given.is_empty()
    }

    /// Returns the disks that the files are on.
    pub(crate) const fn disks(&self) -> &Arc<Disks> {
        &self.disks
    }

    /// Returns the origin of a file over the image of other disks. A side with another image has none there.
    pub(crate) fn origin_over(&self, disks: &Disks, id: InodeId) -> Origin {
        if !self.lower_files().is(&disks.lower) {
            return Origin {
                is_upper: true,
                lower: None,
            };
        }
        if self.is_image {
            let lower = self.image_inode(id);
            return Origin {
                is_upper: lower.is_none(),
                lower,
            };
        }
        self.disks.view.origin(id)
    }

    /// Opens an image.
    pub(crate) fn of_image(
        name: &str,
        image: &StoredImage,
        home: &Home,
    ) -> Result<Self, DiffError> {
        let opened = Disks::of_image(image.clone(), home);
        let disks = opened.map_err(|source| DiffError::Image {
            name: name.to_owned(),
            source,
        })?;
        Ok(Self {
            disks: Arc::new(disks),
            is_image: true,
            own: HashSet::new(),
            given: Given::new(),
        })
    }

    /// Returns the image that the sandbox was made of.
    pub(crate) fn image_below(&self) -> Self {
        Self {
            disks: Arc::clone(&self.disks),
            is_image: true,
            own: HashSet::new(),
            given: Given::new(),
        }
    }

    pub(crate) fn inode(&self, id: InodeId) -> &Inode<Content> {
        self.tree().inode(id)
    }

    pub(crate) fn is_directory(&self, id: InodeId) -> bool {
        self.tree().directory(id).is_some()
    }

    /// Returns true if the path exists. Symlinks are not followed.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        let names = path.split(|&byte| byte == b'/');
        let names: Vec<&[u8]> = names.filter(|name| *name != b".").collect();
        let found = self.tree().find(&names.join(&b'/'));
        found.is_some_and(|id| !self.own.contains(&id))
    }

    /// Returns the image's inode if the sandbox has it unchanged. `None` if the upper disk has it.
    pub(crate) fn unchanged(&self, id: InodeId) -> Option<InodeId> {
        if self.is_image {
            return self.image_inode(id);
        }
        let origin = self.disks.view.origin(id);
        origin.lower.filter(|_| !origin.is_upper)
    }

    /// Returns the image's inode that this one is, or is a changed copy of.
    pub(crate) fn lower(&self, id: InodeId) -> Option<InodeId> {
        if self.is_image {
            return self.image_inode(id);
        }
        self.disks.view.origin(id).lower
    }

    /// Returns an inode of the image's side if it is one of the image; `None` if the file was let in later.
    fn image_inode(&self, id: InodeId) -> Option<InodeId> {
        (id.index() < self.disks.view.image().len()).then_some(id)
    }

    pub(crate) const fn is_image(&self) -> bool {
        self.is_image
    }

    /// Returns the files below the writable disk.
    pub(crate) fn lower_files(&self) -> &Lower {
        &self.disks.lower
    }
}

impl Side for DiskSide {
    type Content = Content;
    type Error = ContentError;

    fn tree(&self) -> &Tree<Content> {
        let view = &self.disks.view;
        if self.is_image {
            view.base()
        } else {
            view.tree()
        }
    }

    fn size_bytes(&self, content: &Content) -> u64 {
        content.size_bytes()
    }

    fn segments(&self, content: &Content) -> Vec<Segment> {
        self.disks.view.segments(content)
    }

    fn read_at(
        &self,
        content: &Content,
        offset_bytes: u64,
        buffer: &mut [u8],
    ) -> Result<(), ContentError> {
        self.disks.view.read_at(content, offset_bytes, buffer)
    }

    fn is_hidden(&self, id: InodeId) -> bool {
        self.own.contains(&id)
    }
}
