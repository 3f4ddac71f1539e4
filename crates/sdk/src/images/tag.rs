use std::sync::Arc;

use oci_image::Reference;

use crate::shared::Shared;
use crate::{Error, Operation};

pub(super) fn tag(shared: Arc<Shared>, source: String, name: String) -> Operation<()> {
    Operation::new(async move {
        let name = reference(&name)?;
        let store = shared.with_home(Shared::store).await?;
        let tagged = store.tag(&source, &name).await;
        tagged.map_err(|error| shared.in_home(Error::from(error).without_pull()))
    })
}

/// Parses a name that an image is to get.
pub(super) fn reference(name: &str) -> Result<Reference, Error> {
    name.parse().map_err(|error: oci_image::InvalidReference| {
        let name = crate::error::printable(name);
        Error::from(error).context(format!("'{name}' cannot be the name of an image"))
    })
}
