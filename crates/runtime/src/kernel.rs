use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use fs_err as fs;
use sha2::{Digest as _, Sha256};

use crate::{Home, durable};

/// A guest kernel, ready for every VMM.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The wrapped kernel, in the home.
    pub path: PathBuf,
    /// Where it was found.
    pub source: PathBuf,
    /// What it calls itself, where it says so.
    pub release: Option<String>,
}

/// Why there is no guest kernel to boot.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// None of the documented places has one.
    #[error("no guest kernel found (looked for {})", list(.places))]
    Missing {
        /// Where it was looked for, in order.
        places: Vec<PathBuf>,
    },
    /// It is there and cannot be read, or not be stored.
    #[error("cannot use the guest kernel {}", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is not a kernel that msb can boot.
    #[error("{} is not a usable guest kernel", .path.display())]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: guest_kernel::KernelError,
    },
}

/// How to come by a kernel, in one sentence.
pub const KERNEL_REMEDY: &str = "install libkrunfw (Debian: apt-get install libkrunfw5; \
    Fedora: dnf install libkrunfw), or set MSB_KERNEL to a libkrunfw.so or a vmlinux with a PVH note";

impl Kernel {
    /// Finds the kernel in the documented places and wraps it once, into the home.
    ///
    /// # Errors
    /// None found, or the one found is unusable. `MSB_KERNEL`, where set, is the only place looked.
    pub fn find(home: &Home, msb_kernel: Option<&OsStr>) -> Result<Self, KernelError> {
        let places = guest_kernel::candidates(msb_kernel, &home.kernels());
        let Some(source) = places.iter().find(|place| place.is_file()).cloned() else {
            return Err(KernelError::Missing { places });
        };
        Self::wrap(home, source)
    }

    fn wrap(home: &Home, source: PathBuf) -> Result<Self, KernelError> {
        let io_error = |source_error| KernelError::Io {
            path: source.clone(),
            source: source_error,
        };
        let bytes = fs::read(&source).map_err(io_error)?;
        let wrapped = guest_kernel::wrap(&bytes).map_err(|error| KernelError::Unusable {
            path: source.clone(),
            source: error,
        })?;
        let name = hex::encode(Sha256::digest(&wrapped.image));
        let path = home.kernels().join(format!("{name}.elf"));
        if !durable::holds(&path, &wrapped.image) {
            durable::publish_bytes(&path, &wrapped.image).map_err(io_error)?;
        }
        Ok(Self {
            path,
            source,
            release: wrapped.release,
        })
    }
}

fn list(places: &[PathBuf]) -> String {
    let places: Vec<_> = places
        .iter()
        .map(|place| place.display().to_string())
        .collect();
    places.join(", ")
}
