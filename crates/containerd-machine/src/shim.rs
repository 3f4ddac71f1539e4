use std::io;

use containerd_protocol::mount::MountCapabilities;
use msb_containerd_shim::{Group, Leftovers, Shim};
use msb_sdk::{Error, ErrorKind, Force};
use tokio::runtime::Builder;

use crate::SandboxPod;
use crate::client::client;
use crate::name::sandbox_name;

/// The runtime `io.containerd.msb.v1`.
#[derive(Debug, Clone, Copy, Default)]
pub struct MsbShim;

impl Shim for MsbShim {
    type Pod = SandboxPod;

    fn name(&self) -> &'static str {
        "io.containerd.msb.v1"
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Returns the mounts of the EROFS snapshotter: the machine has the layers from the store, so containerd attaches
    /// no loop device and formats no disk for them.
    fn mounts(&self) -> MountCapabilities {
        MountCapabilities {
            types: vec!["erofs".to_owned()],
            transforms: ["format", "mkfs", "mkdir"].map(str::to_owned).to_vec(),
        }
    }

    fn pod(&self, group: &Group) -> SandboxPod {
        SandboxPod::new(group)
    }

    fn remove(&self, leftovers: &Leftovers) -> io::Result<()> {
        let group = Group {
            namespace: leftovers.namespace.clone(),
            containerd: leftovers.containerd.clone(),
            id: leftovers.group_id.clone(),
        };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let removed = runtime.block_on(remove(&group));
        removed.map_err(io::Error::other)
    }
}

/// Kills the machine of a group, and removes its sandbox.
async fn remove(group: &Group) -> Result<(), Error> {
    let msb = client()?;
    if !msb.home().exists() {
        return Ok(());
    }
    match msb.sandboxes().get(sandbox_name(group)).await {
        Ok(sandbox) => sandbox.remove(Force::Yes).await?,
        Err(error) if error.kind() == ErrorKind::SandboxNotFound => {}
        Err(error) => return Err(error),
    }
    msb.settled().await
}
