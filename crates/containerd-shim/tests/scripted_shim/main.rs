//! A shim whose processes are scripts in its own memory: the program that the tests and containerd start.

mod pod;
mod script;

use std::io::{self, Write as _};
use std::process::ExitCode;

use containerd_protocol::mount::MountCapabilities;
use fs_err as fs;
use msb_containerd_shim::{Group, Leftovers, Shim};

use pod::ScriptedPod;

struct ScriptedShim;

impl Shim for ScriptedShim {
    type Pod = ScriptedPod;

    fn name(&self) -> &'static str {
        "io.containerd.msbscripted.v1"
    }

    fn version(&self) -> &'static str {
        "1"
    }

    fn mounts(&self) -> MountCapabilities {
        MountCapabilities {
            types: vec!["erofs".to_owned()],
            transforms: vec!["format".to_owned(), "mkfs".to_owned(), "mkdir".to_owned()],
        }
    }

    fn pod(&self, _group: &Group) -> ScriptedPod {
        ScriptedPod::new()
    }

    /// Records each call in `removed` beside the bundle, for the tests.
    fn remove(&self, leftovers: &Leftovers) -> io::Result<()> {
        let Some(directory) = leftovers.bundle.parent() else {
            return Ok(());
        };
        let mut options = fs::OpenOptions::new();
        let mut file = options
            .append(true)
            .create(true)
            .open(directory.join("removed"))?;
        writeln!(file, "{} {}", leftovers.id, leftovers.group_id)
    }
}

fn main() -> ExitCode {
    msb_containerd_shim::run(&ScriptedShim)
}
