use std::path::PathBuf;

use anyhow::{Context as _, Result};
use fs_err as fs;
use serde_json::Value;

use super::listing::{Listing, list};
use test_fixtures::images;
use test_support::TestEnv;
use test_support::{Msb, succeed};

/// The images of the workload: the letter, the name, and the index of the layout. The layouts are
/// those of [`images::pair`]; the guest's registry serves `p`.
const IMAGES: [(&str, &str, usize); 3] = [
    ("a", "powercut.test/a:latest", 0),
    ("b", "powercut.test/b:latest", 1),
    ("p", "127.0.0.1:5000/p:latest", 1),
];

/// The directories that the image `p` has of a Debian, with the same files.
const OF_DEBIAN: [&str; 2] = ["usr/lib/python3.11/encodings", "usr/lib/python3.11/asyncio"];

/// The workload's images, and the files of undisturbed stores of them.
#[derive(Debug)]
pub(super) struct Images {
    layouts: [PathBuf; 2],
    /// The files of a store that holds all images.
    pub(super) all: Listing,
    /// The files of a store from which all images have been removed.
    pub(super) none: Listing,
    /// Directories of the image `p`, and the files that they have.
    pub(super) shown: Vec<(&'static str, Listing)>,
}

impl Images {
    /// Loads and removes all images in a store in `work`.
    pub(super) fn prepare(env: &TestEnv) -> Result<Self> {
        let mut images = Self {
            layouts: images::pair()?,
            all: Listing::new(),
            none: Listing::new(),
            shown: Vec::new(),
        };
        let msb = env.msb_at("undisturbed")?;
        images.load(&msb)?;
        images.all = list(&store(&msb))?;
        images.remove(&msb)?;
        images.none = list(&store(&msb))?;
        fs::remove_dir_all(&msb.home)?;
        let debian = test_fixtures::images::base_tree()?;
        for directory in OF_DEBIAN {
            images
                .shown
                .push((directory, list(&debian.join(directory))?));
        }
        Ok(images)
    }

    /// Loads all images.
    pub(super) fn load(&self, msb: &Msb) -> Result<()> {
        for (_, name, layout) in IMAGES {
            msb.load(&self.layouts[layout], name)?;
        }
        Ok(())
    }

    /// Removes all images, even if sandboxes use them.
    pub(super) fn remove(&self, msb: &Msb) -> Result<()> {
        let names = IMAGES.map(|(_, name, _)| name);
        succeed(msb.command(&["image", "rm", "--force"]).args(names)).map(drop)
    }

    /// Returns the images that `msb` lists: for each name its letter, and `None` if it has no name.
    pub(super) fn listed(msb: &Msb) -> Result<Vec<Listed>> {
        let listed = |row: &Value| {
            let digest = row["digest"]
                .as_str()
                .context("an image without a digest")?;
            let known = |name: &str| IMAGES.iter().find(|(_, known, _)| *known == name);
            let letter = match row["reference"].as_str() {
                Some(name) => Some(
                    known(name)
                        .with_context(|| format!("unknown image {name}"))?
                        .0,
                ),
                None => None,
            };
            Ok(Listed {
                letter,
                digest: digest.to_owned(),
            })
        };
        rows(msb, &["image", "ls", "--format", "json"])?
            .iter()
            .map(listed)
            .collect()
    }
}

/// One name of one image, or one image without a name. A load has not named it yet, or a removal
/// has begun with the name.
#[derive(Debug)]
pub(super) struct Listed {
    /// The workload's letter for the image.
    pub(super) letter: Option<&'static str>,
    pub(super) digest: String,
}

/// Returns the directory in which an msb keeps its images.
pub(super) fn store(msb: &Msb) -> PathBuf {
    msb.home.join("store")
}

/// Returns the rows that a command of msb prints as JSON.
pub(super) fn rows(msb: &Msb, command: &[&str]) -> Result<Vec<Value>> {
    let output = succeed(&mut msb.command(command))?;
    Ok(serde_json::from_slice(&output.stdout)?)
}
