//! The process that reads the sources of secrets again, `msb __secrets`.

use std::path::Path;

use msb_runtime::{SandboxPaths, Spec};

use crate::control::ControlFailure;
use crate::{SecretsError, recorded};

/// Reads the sources of the secrets of a running sandbox again, each before its value expires, until the sandbox's
/// network process has ended. A source that cannot be read is tried again; its value expires meanwhile.
///
/// # Errors
/// If the sandbox's description cannot be read, or its network process cannot be reached.
pub fn refresh(directory: &Path) -> Result<(), SecretsError> {
    keep_memory_private();
    let files = SandboxPaths {
        directory: directory.to_owned(),
    };
    let spec = Spec::read(directory).map_err(|source| SecretsError::Unreadable {
        sandbox: directory.display().to_string(),
        source,
    })?;
    // The state of the secret and the answers of requests tell of a source that cannot be read.
    let refreshed = msb_secrets::refresh(recorded(&spec), &files.secrets_socket(), &mut |_| {});
    Ok(refreshed.map_err(ControlFailure::from)?)
}

/// Keeps the values out of core files, and their memory from other processes of the user.
fn keep_memory_private() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Every kernel that sandboxes run on has this.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
