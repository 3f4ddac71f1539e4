use std::process::{self, Command, Stdio};

use crate::msb::Msb;

/// A sandbox of a name that no other run of a benchmark has; whatever there is of it goes with this
/// value.
pub(crate) struct Sandbox {
    msb: Msb,
    pub(crate) name: String,
}

impl Sandbox {
    /// The name for `purpose`; the sandbox is for the caller to create.
    pub(crate) fn named(msb: &Msb, purpose: &str) -> Self {
        Self {
            msb: msb.clone(),
            name: format!("bench-{purpose}-{}", process::id()),
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
        let mut remove = self.msb.command();
        remove.args(["rm", "--force", &self.name]);
        // What cannot be removed shows in `msb ps`.
        let _ = remove
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}
