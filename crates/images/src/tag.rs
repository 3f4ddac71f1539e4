use std::sync::Arc;

use msb_client::{Error, Operation, Shared};
use oci_image::Reference;

use super::not_found::without_pull;

pub(crate) fn tag(shared: Arc<Shared>, source: String, name: String) -> Operation<()> {
    Operation::new(async move {
        let name = reference(&name)?;
        let store = shared.with_home(Shared::store).await?;
        let tagged = store.tag(&source, &name).await;
        tagged.map_err(|error| shared.in_home(without_pull(error)))
    })
}

/// Parses a name that an image is to get.
pub(crate) fn reference(name: &str) -> Result<Reference, Error> {
    name.parse().map_err(|error: oci_image::InvalidReference| {
        let name = msb_client::printable(name);
        Error::from(error).context(format!("'{name}' cannot be the name of an image"))
    })
}
