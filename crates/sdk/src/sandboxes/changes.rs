use serde::{Deserialize, Serialize};

use super::spec::{cpus, memory_mib};
use crate::{Error, Size};

/// Changes of a sandbox's resources, from its next start. `None` keeps a value.
///
/// ```no_run
/// use msb_sdk::{Changes, Size};
///
/// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
/// sandbox.update(Changes::default().cpus(4).disk(Size::new(20 << 30))).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Changes {
    /// Number of virtual processors.
    pub cpus: Option<u8>,
    /// Guest memory.
    pub memory: Option<Size>,
    /// Size of the writable disk, at least its current size.
    pub disk: Option<Size>,
}

impl Changes {
    /// Sets the number of virtual processors.
    #[must_use]
    pub const fn cpus(mut self, cpus: u8) -> Self {
        self.cpus = Some(cpus);
        self
    }

    /// Sets the guest's memory.
    #[must_use]
    pub const fn memory(mut self, size: Size) -> Self {
        self.memory = Some(size);
        self
    }

    /// Sets the size of the writable disk.
    #[must_use]
    pub const fn disk(mut self, size: Size) -> Self {
        self.disk = Some(size);
        self
    }

    pub(super) fn checked(self) -> Result<msb_runtime::Changes, Error> {
        if self == Self::default() {
            return Err(Error::invalid(
                "nothing to change: give --upper-size, --cpus or --memory",
            ));
        }
        Ok(msb_runtime::Changes {
            cpus: self.cpus.map(cpus).transpose()?,
            memory_mib: self.memory.map(memory_mib).transpose()?,
            upper_bytes: self.disk.map(Size::bytes),
        })
    }
}
