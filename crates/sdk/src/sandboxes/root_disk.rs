//! The disk image that a sandbox's root begins with.

use std::path::PathBuf;
use std::str::FromStr;

use msb_client::printable;
use msb_runtime::{DiskImageFormat, RootFilesystem};
use serde::{Deserialize, Serialize};

use crate::Error;

/// A disk image that a sandbox's root begins with, such as a cloud image. The file is only read, and must
/// not change while sandboxes begin with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RootDisk {
    /// The path of the file.
    pub path: PathBuf,
    /// The format: `raw`, `qcow2` or `vmdk`; found out if `None`.
    pub format: Option<DiskImageFormat>,
    /// The filesystem of the root: `ext4`, `xfs` or `btrfs`; found out if `None`.
    pub filesystem: Option<RootFilesystem>,
    /// The number of the partition; found out if `None`.
    pub partition: Option<u32>,
}

impl RootDisk {
    /// Names a file, of which everything else is found out.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            ..Self::default()
        }
    }
}

impl FromStr for RootDisk {
    type Err = Error;

    /// Reads `FILE[:format=raw|qcow2|vmdk,fstype=ext4|xfs|btrfs,partition=N]`. A colon that is not followed by
    /// settings is a part of the path.
    fn from_str(text: &str) -> Result<Self, Error> {
        let split = text.rsplit_once(':');
        let Some((path, settings)) = split.filter(|(_, settings)| settings.contains('=')) else {
            return named(text, text);
        };
        let mut disk = named(path, text)?;
        for setting in settings.split(',') {
            disk.set(setting, text)?;
        }
        Ok(disk)
    }
}

/// Returns a disk image of which only the path is known.
fn named(path: &str, text: &str) -> Result<RootDisk, Error> {
    if path.is_empty() {
        return Err(invalid(text, "it does not name a file"));
    }
    Ok(RootDisk::new(path))
}

impl RootDisk {
    /// Takes one setting over.
    fn set(&mut self, setting: &str, text: &str) -> Result<(), Error> {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        let wrong = |accepted: String| invalid(text, &format!("'{setting}': {accepted}"));
        match key {
            "format" => {
                let format = value.parse();
                self.format = Some(format.map_err(|error| wrong(format!("{error}")))?);
            }
            "fstype" => {
                let filesystem = value.parse();
                self.filesystem = Some(filesystem.map_err(|error| wrong(format!("{error}")))?);
            }
            "partition" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                let number = number.ok_or_else(|| wrong("write a number from 1 on".to_owned()))?;
                self.partition = Some(number);
            }
            _ => return Err(wrong("write format=, fstype= or partition=".to_owned())),
        }
        Ok(())
    }
}

fn invalid(text: &str, fault: &str) -> Error {
    let text = printable(text);
    Error::invalid(format!(
        "'{text}' is not a disk image: {}",
        printable(fault)
    ))
}
