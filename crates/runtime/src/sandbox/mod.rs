//! One sandbox: an image, an upper disk of its own, and a machine that boots them.

mod condition;
mod connect;
mod create;
mod disk_errors;
mod error;
mod id;
mod jobs;
mod limits;
mod list;
mod lock;
mod machine_process;
mod names;
mod new_disk;
mod own;
mod paths;
mod pause;
mod rename;
mod running;
mod spec;
mod start;
mod started_process;
mod stop;
mod unfinished;
mod update;
mod upper;
mod upper_pool;

pub use condition::{Condition, State};
pub use connect::ConnectError;
pub use create::{CreateOptions, Resources};
pub use error::{CreateError, RemoveError, StartError};
pub use id::SandboxId;
pub use jobs::{Job, JobCondition};
pub use limits::Limits;
pub use lock::Lock;
pub use machine_process::MachineLock;
pub use own::{OwnOptions, Owner};
pub use paths::{JobPaths, SandboxPaths};
pub use rename::RenameError;
pub use running::Running;
pub use spec::{Spec, Stopping, UPPER_SERIAL};
pub use start::StartOptions;
pub use stop::UNMOUNT_TIMEOUT;
pub use update::{Changes, UpdateError};
pub use upper::UpperError;
pub use upper_pool::{AdoptError, SeenFiles, UpperPool};

pub(crate) use create::write_anonymous_volumes;
pub(crate) use lock::{ChangeLock, ReadLock};
pub(crate) use names::check_names;
pub(crate) use new_disk::NewDisk;
pub(crate) use spec::BootFiles;
pub(crate) use upper::upper_options;
pub(crate) use upper_pool::GenerationsLock;

use crate::Home;

/// A sandbox on this host, running or not.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// The sandbox's description, as `sandbox.json` holds it.
    pub spec: Spec,
    pub(crate) files: SandboxPaths,
}

impl Sandbox {
    pub(crate) fn at(home: &Home, spec: Spec) -> Self {
        let directory = home.sandboxes().join(spec.id.as_str());
        Self {
            spec,
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
