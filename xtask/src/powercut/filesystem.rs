use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::run::quiet;

/// What the store lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Filesystem {
    Ext4,
    Xfs,
    Btrfs,
}

impl Filesystem {
    /// As `mount` knows it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// Makes one at the beginning of `disk`, a file that is longer.
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
}
