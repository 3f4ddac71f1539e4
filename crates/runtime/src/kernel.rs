use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use diagnosis::{Diagnose, Diagnosis, ErrorKind, Hint};
use durable_files::FileState;
use fs_err as fs;
use guest_kernel::{Architecture, RootFilesystems};
use image_store::VerifyMode;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{Home, stamp};

/// A guest kernel, ready for every VMM.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The path of the wrapped kernel in the home.
    pub path: PathBuf,
    /// The path of the kernel before it was wrapped.
    pub source: PathBuf,
    /// The release that the kernel states; `None` if it states none.
    pub release: Option<String>,
}

/// A search for the kernel of a guest.
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelSearch<'a> {
    /// The value of `MSB_KERNEL`. If it is set, only its path is searched.
    pub msb_kernel: Option<&'a OsStr>,
    /// The program msb, with which a kernel may be installed.
    pub program: Option<&'a Path>,
    /// The filesystems that the guest's root needs. A kernel that has them is preferred.
    pub needed: RootFilesystems,
}

/// There is no guest kernel to boot.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// No kernel exists in the documented places.
    #[error("cannot find a guest kernel (looked for {})", list(.places))]
    Missing {
        /// The searched paths, in order.
        places: Vec<PathBuf>,
    },
    /// The kernel exists, but it cannot be read or stored.
    #[error("cannot use the guest kernel {}", .path.display())]
    Io {
        /// The path of the kernel.
        path: PathBuf,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// The file is not a kernel that msb can boot.
    #[error("{} is not a usable guest kernel", .path.display())]
    Unusable {
        /// The path of the file.
        path: PathBuf,
        /// The reason that it cannot be booted.
        #[source]
        source: guest_kernel::KernelError,
    },
}

/// The ways to get a kernel, in one sentence.
const ANOTHER_KERNEL: &str = if cfg!(target_arch = "aarch64") {
    "build one with 'cargo xtask kernel-build' in a checkout of msb, or set MSB_KERNEL to an arm64 \
     Image or a libkrunfw.so"
} else {
    "install msb from its release archive or package, which contain a kernel, or set MSB_KERNEL to \
     a vmlinux with a PVH note or a libkrunfw.so"
};

impl Diagnose for KernelError {
    fn diagnosis(&self) -> Diagnosis {
        let hint = match self {
            Self::Missing { places } => match places.as_slice() {
                // More than one path is searched unless the user has named the kernel.
                [named] => another_name(named),
                _ => ANOTHER_KERNEL.into(),
            },
            Self::Io { path, .. } => {
                format!("make {} readable, or {ANOTHER_KERNEL}", path.display()).into()
            }
            Self::Unusable {
                source: guest_kernel::KernelError::Corrupt(_),
                path,
            } => format!(
                "copy or download {} again, or {ANOTHER_KERNEL}",
                path.display()
            )
            .into(),
            Self::Unusable { .. } => ANOTHER_KERNEL.into(),
        };
        Diagnosis::new(ErrorKind::KernelMissing).hint(hint)
    }
}

/// Returns the remedy of a kernel that the user named and that does not exist.
fn another_name(named: &Path) -> Hint {
    let of_client =
        "give Msb a kernel that exists, or leave it out; the variable MSB_KERNEL names one, too";
    Hint::worded(
        format!(
            "set MSB_KERNEL to a kernel that exists, or unset it: {} does not exist",
            named.display()
        ),
        [
            "give kernel() of the client's builder a kernel that exists, or leave it out; MSB_KERNEL names one, too",
            of_client,
            of_client,
        ],
    )
}

impl Kernel {
    /// Finds the kernel in the documented places and wraps it once, into the home.
    /// With [`VerifyMode::Stamp`] it is wrapped again only if either file has changed since.
    ///
    /// # Errors
    /// If no kernel is found, or the first one found is unusable.
    pub fn find(
        home: &Home,
        search: KernelSearch<'_>,
        trust: VerifyMode,
    ) -> Result<Self, KernelError> {
        Self::find_for(Architecture::HOST, home, search, trust)
    }

    fn find_for(
        architecture: Architecture,
        home: &Home,
        search: KernelSearch<'_>,
        trust: VerifyMode,
    ) -> Result<Self, KernelError> {
        let KernelSearch {
            msb_kernel,
            program,
            needed,
        } = search;
        // The directory in PATH may have a symlink to the program.
        let program = program.map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.into()));
        let (kernels, program) = (home.kernels(), program.as_deref());
        let places = guest_kernel::candidates(msb_kernel, &kernels, program, needed);
        let Some(source) = places.iter().find(|place| place.is_file()).cloned() else {
            return Err(KernelError::Missing { places });
        };
        let stamp = home.kernels().join(stamp_name(&source));
        if trust == VerifyMode::Stamp
            && let Some(kernel) = Wrapping::known(home, &source, &stamp)
        {
            return Ok(kernel);
        }
        // A kernel that changes while it is read gets a stamp that never matches.
        let before = FileState::read(&source);
        let kernel = Self::wrap(architecture, home, source)?;
        if let (Ok(before), Ok(after)) = (before, FileState::read(&kernel.path))
            && before.is_at_rest()
            && after.is_at_rest()
        {
            stamp::put(&stamp, &Wrapping::new(&kernel, before, after));
        }
        Ok(kernel)
    }

    fn wrap(architecture: Architecture, home: &Home, source: PathBuf) -> Result<Self, KernelError> {
        let io_error = |source_error| KernelError::Io {
            path: source.clone(),
            source: source_error,
        };
        let mut bytes = Vec::new();
        let mut file = durable_files::open_regular(&source).map_err(io_error)?;
        file.read_to_end(&mut bytes).map_err(io_error)?;
        let wrapped = guest_kernel::wrap(&bytes, architecture);
        let wrapped = wrapped.map_err(|error| KernelError::Unusable {
            path: source.clone(),
            source: error,
        })?;
        let name = hex::encode(Sha256::digest(&wrapped.image));
        let path = home.kernels().join(format!("{name}.elf"));
        // The machine of another start may be confined to the file that exists.
        durable_files::publish_once(&path, &wrapped.image).map_err(io_error)?;
        Ok(Self {
            path,
            source,
            release: wrapped.release,
        })
    }
}

/// The result of wrapping a kernel, and the states of both files at that time.
#[derive(Serialize, Deserialize)]
struct Wrapping {
    source: FileState,
    wrapped_name: String,
    wrapped: FileState,
    release: Option<String>,
}

impl Wrapping {
    fn new(kernel: &Kernel, source: FileState, wrapped: FileState) -> Self {
        let name = kernel.path.file_name().unwrap_or_default();
        Self {
            source,
            wrapped_name: name.to_string_lossy().into_owned(),
            wrapped,
            release: kernel.release.clone(),
        }
    }

    /// Returns the stamp's kernel; `None` if either file has changed since.
    fn known(home: &Home, source: &Path, stamp: &Path) -> Option<Kernel> {
        let known: Self = stamp::read(stamp)?;
        let path = home.kernels().join(&known.wrapped_name);
        let is_same = FileState::read(source).ok()? == known.source
            && FileState::read(&path).ok()? == known.wrapped;
        is_same.then(|| Kernel {
            path,
            source: source.to_owned(),
            release: known.release,
        })
    }
}

/// Returns the name of a kernel's stamp, which is derived from the kernel's path.
fn stamp_name(source: &Path) -> String {
    let path = Sha256::digest(source.as_os_str().as_bytes());
    format!("{}.stamp.json", hex::encode(path))
}

fn list(places: &[PathBuf]) -> String {
    let places: Vec<_> = places
        .iter()
        .map(|place| place.display().to_string())
        .collect();
    places.join(", ")
}

#[cfg(test)]
mod tests;
