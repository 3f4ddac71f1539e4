//! One sandbox: an image, an upper disk of its own, and a machine that boots them.

mod base;
mod condition;
mod connect;
mod create;
mod diagnosis;
mod disk_errors;
mod error;
mod id;
mod image_users;
mod jobs;
mod list;
mod listing;
mod lock;
mod machine_process;
mod names;
mod new_disk;
mod own;
mod paths;
mod pause;
mod record;
mod remove;
mod rename;
mod rules;
mod running;
mod snapshot_number;
mod space;
mod spec;
mod staging;
mod start;
mod started_process;
mod stop;
mod unfinished;
mod unreadable;
mod update;
mod upper;
mod upper_pool;

pub use base::{Base, note_missing as note_missing_base, share as share_base};
pub use condition::{Condition, State};
pub use connect::ConnectError;
pub use create::{CreateOptions, Resources, write_anonymous_volumes};
pub use error::{CreateError, RemoveError, StartError};
pub use id::SandboxId;
pub use image_users::ImageUsers;
pub use jobs::{Job, JobCondition};
pub use listing::Listing;
pub use lock::{ChangeLock, Lock, ReadLock};
pub use machine_process::MachineLock;
pub use names::{HOST_NAME_SUFFIX, check_names};
pub use new_disk::NewDisk;
pub use own::{OwnOptions, Owner};
pub use paths::{JobPaths, SandboxPaths};
pub use record::RecordError;
pub use rename::RenameError;
pub use running::Running;
pub use spec::{IMAGE_SERIAL, Spec, Stopping, UPPER_SERIAL};
pub use start::StartOptions;
pub use stop::UNMOUNT_TIMEOUT;
pub use unreadable::UnreadableSandbox;
pub use update::{Changes, UpdateError};
pub use upper::{UpperError, upper_options};
pub use upper_pool::{AdoptError, GenerationsLock, SeenFiles, UpperPool};

pub(crate) use spec::BootFiles;
pub use staging::{add_staged, current_staged, staged_below, with_native_root};
pub(crate) use upper::own_mounts;

use crate::Home;

/// A sandbox on this host, running or not.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// The sandbox's description, as `sandbox.json` holds it.
    pub spec: Spec,
    /// The damage of its record, as a clause, if the description is from the copy of the record.
    pub record_damage: Option<String>,
    /// The notices about the staged directories; `None` unless this value created the sandbox.
    pub staging: Option<Box<staged_image::Notices>>,
    /// The paths of its files.
    pub files: SandboxPaths,
}

impl Sandbox {
    /// Returns the value of a sandbox with this description; nothing is read or made.
    pub fn at(home: &Home, spec: Spec) -> Self {
        let directory = home.sandboxes().join(spec.id.as_str());
        Self {
            spec,
            record_damage: None,
            staging: None,
            files: SandboxPaths { directory },
        }
    }

    /// Creates a sandbox without an upper disk.
    #[cfg(test)]
    pub(crate) fn for_tests(home: &Home, spec: Spec) -> Self {
        let sandbox = Self::at(home, spec);
        fs_err::create_dir_all(&sandbox.files.directory).expect("made");
        sandbox.describe(home).expect("the name is free");
        sandbox
    }
}
