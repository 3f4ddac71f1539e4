use std::process::{self, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::msb::Msb;

/// The sandboxes that there may be, for whoever is told to end.
static THERE: Mutex<Vec<(Msb, String)>> = Mutex::new(Vec::new());

/// A sandbox of a name that no other run of a benchmark has; whatever there is of it goes with this
/// value.
pub(crate) struct Sandbox {
    msb: Msb,
    pub(crate) name: String,
}

impl Sandbox {
    /// The name for `purpose`; the sandbox is for the caller to create.
    pub(crate) fn named(msb: &Msb, purpose: &str) -> Self {
        let name = format!("bench-{purpose}-{}", process::id());
        there(|sandboxes| sandboxes.push((msb.clone(), name.clone())));
        Self {
            msb: msb.clone(),
            name,
        }
    }

    /// `msb exec` with these options; the guest's command follows.
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

/// Removes every sandbox that this process has made and not removed yet, whatever they are at.
pub fn remove_all() {
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
    // What cannot be removed shows in `msb ps`.
    let _ = remove
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
