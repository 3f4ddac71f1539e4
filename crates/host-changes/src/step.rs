use std::sync::Arc;

use fstree::InodeId;

use super::host_file::HostState;

/// One thing that is done to a file of the host.
#[derive(Debug, Clone)]
pub struct Step {
    /// Path of the file, relative to the directory.
    pub path: Vec<u8>,
    /// The action.
    pub action: HostAction,
    /// The file that the sandbox began with; `None` if it is added.
    pub(super) old: Option<InodeId>,
    /// The sandbox's file; `None` if it is removed.
    pub(super) new: Option<InodeId>,
    /// The text that the file gets instead of the sandbox's: a part of its changes, or merged with the host's.
    pub(super) text: Option<Arc<[u8]>>,
    /// True if the host changed the text, too, so that the sandbox's changes have to be merged into it.
    pub(super) is_merge: bool,
    /// True if the host's file has the new content already and several names, of which one gets a file by itself.
    pub(super) keeps_content: bool,
    /// The state of the host's file when the step was planned; `None` if it did not exist.
    pub(super) host: Option<HostState>,
    /// Path of another name of the same file, from the sandbox's root.
    pub(super) hard_link: Option<Arc<[u8]>>,
    /// True if the file gets the attributes that the sandbox gave it, rather than keep the host's.
    pub(super) has_new_attributes: bool,
    /// True if the step is part of another one of the plan: the removal of a file with its directory.
    pub is_implied: bool,
    /// True if the removal makes room for a file of another kind.
    pub(super) makes_room: bool,
}

/// An action on a file of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostAction {
    /// The file or directory is added.
    Add,
    /// The file is replaced, or its attributes are changed.
    Change,
    /// The file is left as it is, except for its attributes.
    ChangeAttributes,
    /// The file or empty directory is removed.
    Remove,
}

impl HostAction {
    /// Returns the letter that `msb diff` prints for such a change: `A`, `C` or `D`.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Add => 'A',
            Self::Change | Self::ChangeAttributes => 'C',
            Self::Remove => 'D',
        }
    }
}
