use std::sync::Arc;

use msb_client::{Shared, blocking};
use msb_runtime::{Sandbox as StoredSandbox, Volume as StoredVolume};

use crate::{Error, Msb, Operation};

/// The names of a home's objects, as a shell's completion offers them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Names {
    /// Names of sandboxes.
    pub sandboxes: Vec<String>,
    /// Names of images, in docker's short form.
    pub images: Vec<String>,
    /// Names of volumes.
    pub volumes: Vec<String>,
}

impl Msb {
    /// Returns the names of all objects. Images and volumes that cannot be read are left out, and the home is not
    /// changed; its directory has to exist.
    ///
    /// # Errors
    /// If the names cannot be read.
    pub fn names(&self) -> Operation<Names> {
        let shared = Arc::clone(self.shared());
        Operation::new(async move { blocking(move || Ok::<_, Error>(read(&shared))).await })
    }
}

fn read(shared: &Shared) -> Names {
    let listing = StoredSandbox::list(shared.home()).unwrap_or_default();
    let unreadable = listing.unreadable.iter();
    let unreadable = unreadable.map(|sandbox| sandbox.name().to_owned());
    let images = shared.store().ok().map(|store| store.images());
    let images = images.and_then(Result::ok).unwrap_or_default();
    let volumes = StoredVolume::all(shared.home()).unwrap_or_default();
    let volumes = volumes.into_iter().flatten();
    Names {
        sandboxes: listing
            .sandboxes
            .iter()
            .map(|sandbox| sandbox.spec.name.clone())
            .chain(unreadable)
            .collect(),
        images: images
            .into_iter()
            .filter_map(|image| image.reference)
            .collect(),
        volumes: volumes.map(|volume| volume.spec.name.to_string()).collect(),
    }
}
