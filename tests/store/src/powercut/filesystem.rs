use std::path::Path;
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context as _, Result, ensure};

use test_fixtures::command::quiet;

/// The filesystem that the store lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filesystem {
    Ext4,
    Xfs,
    Btrfs,
}

impl FromStr for Filesystem {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = [Self::Ext4, Self::Xfs, Self::Btrfs];
        let found = known
            .into_iter()
            .find(|filesystem| filesystem.name() == name);
        found.with_context(|| format!("no filesystem '{name}': ext4, xfs, btrfs"))
    }
}

impl Filesystem {
    /// Returns the name that `mount` uses.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// Makes a filesystem of `size_bytes` at the beginning of `disk`, a file that is longer.
    pub(super) fn make(self, disk: &Path, size_bytes: u64) -> Result<()> {
        let mut command = Command::new(format!("mkfs.{}", self.name()));
        match self {
            Self::Ext4 => command.args(["-q", "-F", "-E", "lazy_itable_init=0,nodiscard"]),
            Self::Xfs => command.args(["-q", "-f", "-K", "-d", &format!("size={size_bytes}")]),
            Self::Btrfs => command.args(["-q", "-f", "-K", "-b", &size_bytes.to_string()]),
        };
        command.arg(disk);
        if self == Self::Ext4 {
            command.arg(format!("{}k", size_bytes >> 10));
        }
        quiet(&mut command)?;
        Ok(())
    }

    /// Returns true if a write torn at this byte of the disk makes the filesystem unmountable.
    /// ext4's superblock is two sectors with one checksum, so no kernel mounts the result of such a
    /// tear: the owner is told to run `e2fsck`, which takes a backup.
    pub(super) fn is_torn_at(self, byte: u64) -> bool {
        const SUPERBLOCK_BYTES: std::ops::Range<u64> = 1024..2048;
        self == Self::Ext4 && SUPERBLOCK_BYTES.start < byte && byte < SUPERBLOCK_BYTES.end
    }

    /// Repairs the disk as the filesystem's owner is told to after [`Self::is_torn_at`].
    pub(super) fn mend(self, disk: &Path) -> Result<()> {
        /// The exit status of `e2fsck` if it corrected errors.
        const MENDED: i32 = 1;
        ensure!(self == Self::Ext4, "only ext4 is mended");
        let output = Command::new("e2fsck").arg("-fy").arg(disk).output()?;
        ensure!(
            matches!(output.status.code(), Some(0 | MENDED)),
            "e2fsck gave {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stdout)
        );
        Ok(())
    }
}
