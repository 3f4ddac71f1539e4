//! The description of an object of any kind.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Error, ErrorKind, Msb, Operation, SandboxInfo, VolumeInfo};

/// The description of a sandbox, an image or a volume.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Inspection {
    /// A sandbox.
    Sandbox(Box<SandboxInfo>),
    /// An image's record and the paths of its artifacts.
    Image(Map<String, Value>),
    /// A volume.
    Volume(VolumeInfo),
}

impl Msb {
    /// Describes the object with this name: a sandbox, else an image, else a volume.
    ///
    /// ```no_run
    /// use msb_sdk::Inspection;
    ///
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// if let Inspection::Volume(volume) = msb.inspect("cache").await? {
    ///     println!("{} bytes", volume.allocated_bytes);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) if there is none of any kind.
    pub fn inspect(&self, name: impl Into<String>) -> Operation<Inspection> {
        let (msb, name) = (self.clone(), name.into());
        Operation::new(async move {
            match msb.sandboxes().get(name.as_str()).await {
                Err(error) if error.kind() == ErrorKind::SandboxNotFound => {}
                found => return Ok(Inspection::Sandbox(Box::new(found?.inspect().await?))),
            }
            match msb.images().inspect(name.as_str()).await {
                Err(error) if is_no_image(&error) => {}
                found => return Ok(Inspection::Image(found?)),
            }
            match msb.volumes().get(name.as_str()).await {
                Err(error) if error.kind() == ErrorKind::VolumeNotFound => Err(missing(&name)),
                found => Ok(Inspection::Volume(found?.info().clone())),
            }
        })
    }
}

/// Returns true if the store has no image of the name.
fn is_no_image(error: &Error) -> bool {
    error.kind() == ErrorKind::ImageNotFound
}

fn missing(name: &str) -> Error {
    let name = msb_client::printable(name);
    let message = format!("no such sandbox, image or volume: {name}");
    Error::new(ErrorKind::NotFound, message).with_detail("name", name)
}
