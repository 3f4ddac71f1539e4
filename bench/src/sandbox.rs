use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};

use crate::msb::Msb;

/// The sandboxes that may exist, for their removal after a signal.
static THERE: Mutex<Vec<(Msb, String)>> = Mutex::new(Vec::new());

/// A sandbox with a name that no other run of a benchmark uses. It is removed when this value is
/// dropped.
pub(crate) struct Sandbox {
    msb: Msb,
    pub(crate) name: String,
}

impl Sandbox {
    /// Reserves the sandbox's name for `purpose`. The caller creates the sandbox.
    pub(crate) fn named(msb: &Msb, purpose: &str) -> Self {
        let name = format!("bench-{purpose}-{}", process::id());
        there(|sandboxes| sandboxes.push((msb.clone(), name.clone())));
        Self {
            msb: msb.clone(),
            name,
        }
    }

    /// Returns `msb exec` with these options. The caller adds the guest's command.
    pub(crate) fn exec(&self, options: &[&str]) -> Command {
        let mut exec = self.msb.command();
        exec.arg("exec").args(options).arg(&self.name);
        exec
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        remove(&self.msb, &self.name);
        there(|sandboxes| sandboxes.retain(|(_, name)| *name != self.name));
    }
}

/// Returns the file that has all blocks of a sandbox's disk, which is so until its first cut.
pub(crate) fn disk_file(sandbox: &Path) -> Result<PathBuf> {
    for file in fs::read_dir(sandbox.join("generations"))? {
        let path = file?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "data")
        {
            return Ok(path);
        }
    }
    None.with_context(|| format!("no disk in {}", sandbox.display()))
}

/// Removes every sandbox of this process that still exists, in any state.
pub(crate) fn remove_all() {
    for (msb, name) in there(|sandboxes| sandboxes.clone()) {
        remove(&msb, &name);
    }
}

fn there<T>(work: impl FnOnce(&mut Vec<(Msb, String)>) -> T) -> T {
    work(&mut THERE.lock().unwrap_or_else(PoisonError::into_inner))
}

fn remove(msb: &Msb, name: &str) {
    let mut remove = msb.command();
    remove.args(["rm", "--force", name]);
    // A sandbox that cannot be removed shows in `msb ps`.
    let _ = remove
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
