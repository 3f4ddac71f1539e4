//! The steps that are left once all new files of a plan are in the directory under other names. They need nothing of
//! the sandbox, so that another process can do them.

use fstree::{Metadata, Timestamp, Xattrs};
use serde::{Deserialize, Serialize};

use super::attributes::Attributes;
use super::hex_bytes;
use super::host_file::HostState;
use super::unfinished::Waiting;

/// The xattr of file capabilities, which belongs to a file's owner.
const CAPABILITY: &[u8] = b"security.capability";

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingStep {
    /// Path of the file, relative to the directory.
    #[serde(with = "hex_bytes")]
    pub(super) path: Vec<u8>,
    pub(super) action: PendingAction,
}

/// An action that is done to the file of a step, or was done already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PendingAction {
    /// The removal of a file in this state; of an empty directory if there is none.
    Remove(Option<HostState>),
    /// A new directory, which gets its time when everything is in it.
    MakeDirectory(NewAttributes),
    /// The permissions, and perhaps the owner, of an existing directory.
    SetDirectory(NewAttributes),
    /// The same of a file in this state.
    SetAttributes {
        host: Option<HostState>,
        attributes: NewAttributes,
    },
    /// A new file takes its place.
    Place(Place),
    /// Another name of a file that the directory has then.
    Link(Link),
}

/// A new file that takes its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) waiting: Waiting,
    /// The state of the file that it replaces; `None` if there is none.
    pub(super) host: Option<HostState>,
    pub(super) attributes: NewAttributes,
    /// True if the permissions and the owner are those of the replaced file.
    pub(super) keeps_attributes: bool,
}

/// Another name of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Link {
    /// Path of the file, relative to the directory.
    #[serde(with = "hex_bytes")]
    pub(super) other: Vec<u8>,
    /// Number of the file's inode. Another file under the path is not linked.
    pub(super) inode: u64,
    /// The name, in the directory of the step, that it has before its place.
    #[serde(with = "hex_bytes")]
    pub(super) name: Vec<u8>,
    /// The state of the file that it replaces; `None` if there is none.
    pub(super) host: Option<HostState>,
    /// The attributes of the sandbox's file. A file with others is copied.
    pub(super) attributes: NewAttributes,
    /// True if the permissions and the owner of a copy are those of the replaced file.
    pub(super) keeps_attributes: bool,
}

/// The attributes that a file of the host gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NewAttributes {
    pub(super) mode: u16,
    uid: u32,
    gid: u32,
    mtime_s: i64,
    pub(super) mtime_ns: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    xattrs: Vec<NewXattr>,
}

/// An xattr that a file of the host gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct NewXattr {
    #[serde(with = "hex_bytes")]
    name: Vec<u8>,
    #[serde(with = "hex_bytes")]
    value: Vec<u8>,
}

impl NewAttributes {
    /// Returns those of a file of the sandbox that are applied.
    pub(super) fn new(metadata: &Metadata, keep_owner: bool) -> Self {
        let is_applied =
            |name: &[u8]| name.starts_with(b"user.") || (keep_owner && name == CAPABILITY);
        let xattrs = metadata.xattrs.iter().filter(|(name, _)| is_applied(name));
        Self {
            mode: Attributes::of_sandbox(metadata, keep_owner).mode,
            uid: metadata.uid,
            gid: metadata.gid,
            mtime_s: metadata.mtime.seconds,
            mtime_ns: metadata.mtime.nanoseconds,
            xattrs: xattrs
                .map(|(name, value)| NewXattr {
                    name: name.to_vec(),
                    value: value.to_vec(),
                })
                .collect(),
        }
    }

    pub(super) fn metadata(&self) -> Metadata {
        Metadata {
            mode: self.mode,
            uid: self.uid,
            gid: self.gid,
            mtime: Timestamp {
                seconds: self.mtime_s,
                nanoseconds: self.mtime_ns,
            },
            xattrs: self
                .xattrs
                .iter()
                .map(|xattr| (&xattr.name, &xattr.value))
                .collect::<Xattrs>(),
        }
    }

    /// Returns the room that the xattrs take, in bytes.
    fn xattr_bytes(&self) -> usize {
        let bytes = |xattr: &NewXattr| xattr.name.len() + xattr.value.len();
        self.xattrs.iter().map(bytes).sum()
    }
}

impl PendingStep {
    /// Returns the bytes of names and xattrs that the step has.
    pub(super) fn text_bytes(&self) -> usize {
        let of_action = match &self.action {
            PendingAction::Remove(_) => 0,
            PendingAction::MakeDirectory(attributes)
            | PendingAction::SetDirectory(attributes)
            | PendingAction::SetAttributes { attributes, .. } => attributes.xattr_bytes(),
            PendingAction::Place(place) => {
                place.waiting.above.len()
                    + place.waiting.name.len()
                    + place.attributes.xattr_bytes()
            }
            PendingAction::Link(link) => {
                link.other.len() + link.name.len() + link.attributes.xattr_bytes()
            }
        };
        self.path.len() + of_action
    }

    /// Returns the attributes that the step sets.
    pub(super) const fn attributes(&self) -> Option<&NewAttributes> {
        match &self.action {
            PendingAction::Remove(_) => None,
            PendingAction::MakeDirectory(attributes)
            | PendingAction::SetDirectory(attributes)
            | PendingAction::SetAttributes { attributes, .. } => Some(attributes),
            PendingAction::Place(place) => Some(&place.attributes),
            PendingAction::Link(link) => Some(&link.attributes),
        }
    }
}
