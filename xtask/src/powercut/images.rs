use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fs_err as fs;
use serde_json::Value;

use super::listing::{Listing, list};
use crate::image;
use crate::oracle::{Msb, succeed};

/// The images of the workload: its letter for each, the name, and the place of its layout in
/// [`image::pair`]. `p` is what the guest's registry serves.
const IMAGES: [(&str, &str, usize); 3] = [
    ("a", "powercut.test/a:latest", 0),
    ("b", "powercut.test/b:latest", 1),
    ("p", "127.0.0.1:5000/p:latest", 1),
];

/// The workload's images, and what stores of them look like that nothing ever disturbed.
#[derive(Debug)]
pub(super) struct Images {
    layouts: [PathBuf; 2],
    /// A store that holds them all.
    pub(super) all: Listing,
    /// A store from which they have been removed.
    pub(super) none: Listing,
}

impl Images {
    /// Loads and removes them all in a store in `work`.
    pub(super) fn prepare(program: &Path, work: &Path) -> Result<Self> {
        let mut images = Self {
            layouts: image::pair()?,
            all: Listing::new(),
            none: Listing::new(),
        };
        let msb = Msb {
            program: program.to_owned(),
            home: work.join("undisturbed"),
        };
        images.load(&msb)?;
        images.all = list(&store(&msb))?;
        images.remove(&msb)?;
        images.none = list(&store(&msb))?;
        fs::remove_dir_all(&msb.home)?;
        Ok(images)
    }

    /// Loads every one.
    pub(super) fn load(&self, msb: &Msb) -> Result<()> {
        for (_, name, layout) in IMAGES {
            msb.load(&self.layouts[layout], name)?;
        }
        Ok(())
    }

    /// Removes every one, sandboxes of it or not.
    pub(super) fn remove(&self, msb: &Msb) -> Result<()> {
        let names = IMAGES.map(|(_, name, _)| name);
        succeed(msb.command(&["image", "rm", "--force"]).args(names)).map(drop)
    }

    /// What `msb` lists: for each name of an image its letter, and `None` for an image without one.
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

/// One name of one image, or one image without a name: a load has not got to it yet, or a removal
/// has begun with it.
#[derive(Debug)]
pub(super) struct Listed {
    /// The workload's letter for it.
    pub(super) letter: Option<&'static str>,
    pub(super) digest: String,
}

/// Where an msb keeps its images.
pub(super) fn store(msb: &Msb) -> PathBuf {
    msb.home.join("store")
}

/// One text of each sandbox that `msb` lists: its `id` or its `name`.
pub(super) fn sandboxes(msb: &Msb, key: &str) -> Result<Vec<String>> {
    let rows = rows(msb, &["ps", "--all", "--format", "json"])?;
    let text = |row: &Value| row[key].as_str().map(str::to_owned);
    let texts: Option<Vec<String>> = rows.iter().map(text).collect();
    texts.with_context(|| format!("a sandbox without {key}: {rows:?}"))
}

fn rows(msb: &Msb, command: &[&str]) -> Result<Vec<Value>> {
    let output = succeed(&mut msb.command(command))?;
    Ok(serde_json::from_slice(&output.stdout)?)
}
