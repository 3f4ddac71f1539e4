use std::io;
use std::sync::Arc;

use image_store::RemoveError;
use msb_client::{Error, ErrorKind, Force, Operation, Shared};
use msb_runtime::Sandbox;
use oci_image::Digest;
use serde::{Deserialize, Serialize};

use super::not_found::without_pull;

/// The result of the removal of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemovedImage {
    /// Removed names, in docker's short form.
    pub references: Vec<String>,
    /// Digest of the image that was removed with its last name; `None` if it has further names.
    pub digest: Option<String>,
    /// Length of the removed artifacts, in bytes.
    pub freed_bytes: u64,
}

pub(crate) fn remove(shared: Arc<Shared>, name: String, force: Force) -> Operation<RemovedImage> {
    Operation::new(async move {
        shared
            .with_home(move |shared| remove_now(shared, &name, force))
            .await
    })
}

fn remove_now(shared: &Shared, name: &str, force: Force) -> Result<RemovedImage, Error> {
    Sandbox::sweep(shared.home())?;
    let users = shared.image_users();
    let needed = |digest: &Digest| Ok(force == Force::No && users.need(&digest.to_string())?);
    match shared.store()?.remove(name, &needed) {
        Err(error @ (RemoveError::Needed { digest } | RemoveError::InUse { digest })) => {
            Err(used(shared, name, &digest)?.unwrap_or_else(|| error.into()))
        }
        removed => {
            let removed = removed.map_err(without_pull)?;
            Ok(RemovedImage {
                references: removed.references,
                digest: removed.image.map(|digest| digest.to_string()),
                freed_bytes: removed.freed_bytes,
            })
        }
    }
}

/// Returns an error that names the sandboxes of an image; `None` if it has none.
fn used(shared: &Shared, image: &str, digest: &Digest) -> io::Result<Option<Error>> {
    let digest = digest.to_string();
    let (mut names, mut is_running) = (Vec::new(), false);
    let listing = Sandbox::list(shared.home())?;
    for sandbox in listing.sandboxes {
        if sandbox.spec.image_digest == digest {
            is_running |= sandbox.state()?.is_up();
            names.push(sandbox.spec.name);
        }
    }
    for sandbox in listing.unreadable {
        // One whose image is unknown may be of this one.
        if sandbox.image_digest().is_none_or(|known| known == digest) {
            is_running |= sandbox.is_running()?;
            names.push(sandbox.name().to_owned());
        }
    }
    let [first, others @ ..] = names.as_slice() else {
        return Ok(None);
    };
    let (those, they) = match others {
        [] => ("it", "it"),
        _ => ("them", "they"),
    };
    let users = match others {
        [] => format!("sandbox {first}"),
        _ => format!("sandboxes {}", names.join(", ")),
    };
    let all = names.join(" ");
    let advice = if is_running {
        format!("remove {those} first with msb rm -f {all}")
    } else {
        format!(
            "remove {those} first with msb rm {all}; or remove the image alone with msb image rm \
             --force {image}, after which {they} cannot be started"
        )
    };
    let message = format!("image {image} is used by {users}");
    Ok(Some(
        Error::new(ErrorKind::ImageInUse, message)
            .with_hint(advice)
            .with_detail("digest", digest)
            .with_detail("sandboxes", names),
    ))
}
