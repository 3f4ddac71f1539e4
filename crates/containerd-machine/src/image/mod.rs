//! The image of a container: found at containerd, and imported into the store unless it is there.
//!
//! The snapshot of a container names the layers that it begins with. The manifest of the image has to have these
//! layers, because a name can stand for another image by now. Layers that the store has are not converted again.

mod chain;
mod error;
mod layout;
mod manifest;

use msb_containerd_shim::Group;
use msb_sdk::{ErrorKind, Msb};
use tokio::task::spawn_blocking;

pub(crate) use error::ImageError;

use crate::engine::Engine;
use layout::Layout;
use manifest::{Found, Search};

/// Brings the image of a container into the store. Returns its digest.
pub(crate) async fn prepare(
    msb: &Msb,
    group: &Group,
    container_id: &str,
) -> Result<String, ImageError> {
    let mut engine = Engine::connect(&group.containerd, &group.namespace).await?;
    let container = engine.container(container_id).await?;
    if container.image.is_empty() || container.snapshot_key.is_empty() {
        return Err(ImageError::None);
    }
    let (snapshotter, key) = (&container.snapshotter, &container.snapshot_key);
    let chain = engine.snapshot_parent(snapshotter, key).await?;
    let target = engine.image_target(&container.image).await?;
    let search = Search {
        name: &container.image,
        chain: &chain,
    };
    let found = search.find(&mut engine, &target).await?;
    let digest = found.manifest.digest.to_string();
    match msb.images().get(digest.as_str()).await {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ImageNotFound => {
            import(msb, &mut engine, &found).await?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(digest)
}

async fn import(msb: &Msb, engine: &mut Engine, image: &Found) -> Result<(), ImageError> {
    let home = msb.home().to_owned();
    let made = spawn_blocking(move || Layout::create(&home)).await;
    let layout = made.map_err(|_| msb_sdk::Error::internal("the import was aborted"))??;
    layout.fill(engine, image).await?;
    msb.images().load(layout.path()).await?;
    // Removing large files takes a moment.
    let _ = spawn_blocking(move || drop(layout)).await;
    Ok(())
}
