use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use msb_vmm::{Requirement, Unavailable};

use crate::starter::Starter;

/// The name of the program that emulates this host's architecture.
const QEMU: &str = if cfg!(target_arch = "aarch64") {
    "qemu-system-aarch64"
} else {
    "qemu-system-x86_64"
};

/// The remedy if it is missing.
const INSTALL_QEMU: &str = if cfg!(target_arch = "aarch64") {
    "install it (Debian: apt-get install qemu-system-arm; Fedora: dnf install \
     qemu-system-aarch64-core), or set MSB_QEMU to its path"
} else {
    "install it (Debian: apt-get install qemu-system-x86; Fedora: dnf install \
     qemu-system-x86-core), or set MSB_QEMU to its path"
};

/// True if there is a board for this host's guests.
const IS_SUPPORTED: bool = cfg!(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
));

/// The program of util-linux that ties a process's lifetime to its parent's.
const SETPRIV: &str = "setpriv";

/// The programs that a machine needs.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) qemu: PathBuf,
    pub(crate) setpriv: PathBuf,
    /// The command between `setpriv` and QEMU; `None` if `setpriv` runs QEMU.
    pub(crate) starter: Option<Starter>,
}

impl Programs {
    /// Looks up the programs in `path`. `qemu` replaces the usual name.
    pub(crate) fn find(qemu: Option<&OsStr>, path: Option<&OsStr>) -> Result<Self, Unavailable> {
        let path = path.unwrap_or(OsStr::new("/usr/bin:/bin"));
        if !IS_SUPPORTED {
            return Err(Unavailable {
                reason: "the QEMU backend supports only Linux on x86-64 and arm64".to_owned(),
                remedy: "run msb on a machine of that kind".to_owned(),
                requirement: Requirement::Other,
            });
        }
        Ok(Self {
            qemu: find(
                qemu.unwrap_or(OsStr::new(QEMU)),
                path,
                INSTALL_QEMU,
                Requirement::Qemu,
            )?,
            setpriv: find(
                OsStr::new(SETPRIV),
                path,
                "install it (Debian and Fedora: package util-linux)",
                Requirement::Other,
            )?,
            starter: None,
        })
    }
}

fn find(
    program: &OsStr,
    path: &OsStr,
    remedy: &str,
    requirement: Requirement,
) -> Result<PathBuf, Unavailable> {
    find_in(program, path).ok_or_else(|| Unavailable {
        reason: format!("the program {} is missing", program.display()),
        remedy: remedy.to_owned(),
        requirement,
    })
}

/// Finds `program` as a shell does: a name with a slash is a path, any other name is looked up.
/// `None` if it is not found.
/// Directories that are not absolute are skipped.
fn find_in(program: &OsStr, search_path: &OsStr) -> Option<PathBuf> {
    if Path::new(program).components().count() > 1 {
        return Some(PathBuf::from(program)).filter(|path| is_executable(path));
    }
    // An empty entry would be the working directory, and so would no PATH at all.
    std::env::split_paths(search_path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(program))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_up_and_paths_are_not() {
        let path = OsStr::new("/nonexistent:/usr/bin:/bin");
        assert!(find_in(OsStr::new("sh"), path).is_some());
        assert_eq!(
            find_in(OsStr::new("/bin/sh"), OsStr::new("")),
            Some("/bin/sh".into())
        );
        for missing in [
            "msb-no-such-program",
            "/bin/msb-no-such-program",
            "/etc/passwd",
            "/bin",
            "",
        ] {
            assert_eq!(find_in(OsStr::new(missing), path), None, "{missing}");
        }
        let up = "../".repeat(32);
        for relative in ["", ":", &format!("{up}bin"), &format!(":{up}usr/bin:.")] {
            let found = find_in(OsStr::new("sh"), OsStr::new(relative));
            assert_eq!(found, None, "{relative}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_its_remedy() {
        let missing = Programs::find(Some(OsStr::new("/no/qemu")), None).unwrap_err();
        assert_eq!(missing.reason, "the program /no/qemu is missing");
        assert!(missing.remedy.contains("apt-get install qemu-system-"));
    }
}
