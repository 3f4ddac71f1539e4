use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fs_err as fs;
use test_fixtures::{images, paths};

use crate::msb::Msb;
use crate::{file_identity, settings};

/// The parts of a home that belong to images, not to sandboxes.
pub(crate) const SHARED: [&str; 3] = ["store", "kernels", "boot"];

/// The image that guests run if no other is named.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DebianImage {
    /// A Debian with python3.
    Python,
    /// A Debian with git and virtual environments of Python too.
    Bench,
    /// A Debian with docker, podman and bubblewrap.
    Engines,
}

impl DebianImage {
    const fn name(self) -> &'static str {
        match self {
            Self::Python => "debian-python",
            Self::Bench => "debian-bench",
            Self::Engines => "debian-engines",
        }
    }

    /// Returns the image's name in a store.
    pub(crate) fn reference(self) -> String {
        format!("localhost/{}:latest", self.name())
    }

    /// Loads the image into the store of this msb.
    pub(crate) fn load(self, msb: &Msb) -> Result<()> {
        msb.load(&self.layout()?, &self.reference())
    }

    /// Returns the image's OCI layout.
    pub(crate) fn layout(self) -> Result<PathBuf> {
        match self {
            Self::Python => images::demo(),
            Self::Bench => images::bench(),
            Self::Engines => images::engines(),
        }
    }
}

/// A home whose store has an image, for all tests of one msb.
#[derive(Debug)]
pub(crate) struct ImageStore {
    pub(crate) home: PathBuf,
    pub(crate) image: String,
    /// The store is not removed while this lock is held.
    _lock: Option<File>,
}

impl ImageStore {
    /// Returns the home and the image that the environment names, or a store with a Debian image.
    /// This msb loads the image. Each msb has its own store, so none reads an older one's files.
    pub(crate) fn find(program: &Path, kernel: &Path, debian: DebianImage) -> Result<Self> {
        if let Ok(image) = std::env::var(settings::IMAGE) {
            let home = paths::in_variable("MSB_HOME")?;
            let home = home.with_context(|| format!("{} needs MSB_HOME", settings::IMAGE))?;
            return Ok(Self {
                home,
                image,
                _lock: None,
            });
        }
        let stores = paths::kept("stores")?;
        let identity = format!("{:016x}", file_identity::read(program)?);
        let name = format!("{identity}-{}", debian.name());
        let lock = File::create(stores.join(format!("{name}.lock")))?;
        // Tests that use a finished store at once do not wait for each other.
        lock.lock_shared()?;
        let home = stores.join(&name);
        let finished = home.join("finished");
        if !finished.exists() {
            lock.lock()?;
        }
        if !finished.exists() {
            remove_others(&stores, &identity)?;
            for part in SHARED {
                fs::create_dir_all(home.join(part))?;
            }
            let msb = Msb {
                program: program.to_owned(),
                home: home.clone(),
                kernel: kernel.to_owned(),
            };
            debian.load(&msb)?;
            fs::write(&finished, "")?;
        }
        // Linux turns an exclusive lock into a shared one: flock(2).
        lock.lock_shared()?;
        Ok(Self {
            home,
            image: debian.reference(),
            _lock: Some(lock),
        })
    }
}

/// Removes the stores of other msb programs than this one, except those that a test still uses.
fn remove_others(stores: &Path, identity: &str) -> Result<()> {
    for entry in fs::read_dir(stores)? {
        let entry = entry?;
        let path = entry.path();
        let is_own = entry.file_name().to_string_lossy().starts_with(identity);
        if !path.is_dir() || is_own {
            continue;
        }
        let lock = File::create(path.with_extension("lock"))?;
        if lock.try_lock().is_ok() {
            fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}
