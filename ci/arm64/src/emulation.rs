//! User-mode emulation: the kernel starts programs for arm64 with qemu-user.
//!
//! The registration is of the whole machine, as that of Debian's package `binfmt-support` is, and is
//! removed when the value is dropped.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use fs_err as fs;
use test_fixtures::command::quiet;

/// The directory of the kernel's table of interpreters (Documentation/admin-guide/binfmt-misc.rst).
const TABLE: &str = "/proc/sys/fs/binfmt_misc";

/// The name of the entry.
const NAME: &str = "msb-aarch64";

/// The entry that Debian's packages make.
const DEBIAN_NAME: &str = "qemu-aarch64";

/// The interpreter. It is linked statically, so it also starts where this host's files are not seen.
const INTERPRETER: &str = "/usr/bin/qemu-aarch64-static";

/// The start of an ELF file for arm64, and the bits of it that count: it is an executable or a shared
/// object, of any ABI.
const MAGIC: [u8; 20] = [
    0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0xb7, 0,
];
const MASK: [u8; 20] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xfe, 0xff, 0xff, 0xff,
];

/// The kernel starts programs for arm64 as long as this exists.
#[derive(Debug)]
pub(crate) struct Emulation {
    /// The entry that was made; `None` if there was one before.
    entry: Option<PathBuf>,
}

impl Emulation {
    /// Registers the interpreter, unless one is registered.
    ///
    /// # Errors
    /// If this user is not root, or this host's kernel has no such table.
    pub(crate) fn start() -> Result<Self> {
        let table = Path::new(TABLE);
        if !table.join("register").exists() {
            quiet(Command::new("mount").args(["-t", "binfmt_misc", "binfmt_misc", TABLE]))
                .context("cannot mount the kernel's table of interpreters")?;
        }
        if [NAME, DEBIAN_NAME]
            .iter()
            .any(|name| table.join(name).exists())
        {
            return Ok(Self { entry: None });
        }
        fs::write(table.join("register"), line())
            .context("cannot register an interpreter for programs of arm64; this needs root")?;
        Ok(Self {
            entry: Some(table.join(NAME)),
        })
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        if let Some(entry) = &self.entry {
            // An entry that stays is no harm, and the next run uses it.
            let _ = fs::write(entry, "-1");
        }
    }
}

/// Returns the line that registers the interpreter, opened now (`F`).
fn line() -> String {
    let escaped =
        |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect() };
    format!(
        ":{NAME}:M::{}:{}:{INTERPRETER}:F",
        escaped(&MAGIC),
        escaped(&MASK)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registration_has_the_kernels_form() {
        let line = line();
        let fields: Vec<_> = line.split(':').collect();
        assert_eq!(fields.len(), 8, "{line}");
        assert!(fields[4].starts_with("\\x7f\\x45\\x4c\\x46\\x02"), "{line}");
        // The kernel refuses longer lines.
        assert!(line.len() < 1920, "{line}");
    }
}
