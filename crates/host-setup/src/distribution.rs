//! The distribution of this host, as far as its package manager is concerned.

use std::path::Path;

/// The file that describes the distribution (os-release(5)), and its size limit.
const OS_RELEASE: &str = "/etc/os-release";
const OS_RELEASE_MAX_BYTES: u64 = 64 << 10;

/// A family of distributions that share a package manager, and the commands that install things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distribution {
    /// The identifier of os-release(5) that the family is known by.
    id: &'static str,
    /// The command that installs QEMU for guests of this host.
    pub(crate) install_qemu: &'static str,
    /// The command that installs a guest kernel; `None` if the family has no package of one.
    pub(crate) install_kernel: Option<&'static str>,
}

/// The families, by the identifiers of their first member.
const DISTRIBUTIONS: [Distribution; 5] = [
    Distribution {
        id: "debian",
        install_qemu: by_architecture(
            "apt-get install qemu-system-x86",
            "apt-get install qemu-system-arm",
        ),
        // libkrunfw5 is in Debian's unstable release only.
        install_kernel: None,
    },
    Distribution {
        id: "fedora",
        install_qemu: by_architecture(
            "dnf install qemu-system-x86-core",
            "dnf install qemu-system-aarch64-core",
        ),
        install_kernel: Some("dnf install libkrunfw"),
    },
    Distribution {
        id: "arch",
        install_qemu: by_architecture("pacman -S qemu-system-x86", "pacman -S qemu-system-aarch64"),
        install_kernel: Some("pacman -S libkrunfw"),
    },
    Distribution {
        id: "suse",
        install_qemu: by_architecture("zypper install qemu-x86", "zypper install qemu-arm"),
        install_kernel: None,
    },
    Distribution {
        id: "alpine",
        install_qemu: by_architecture("apk add qemu-system-x86_64", "apk add qemu-system-aarch64"),
        install_kernel: None,
    },
];

/// Returns the command for this host.
const fn by_architecture(x86_64: &'static str, arm64: &'static str) -> &'static str {
    if cfg!(target_arch = "aarch64") {
        arm64
    } else {
        x86_64
    }
}

/// The identifiers whose QEMU has no machine of the type microvm, although they are like Fedora.
const WITHOUT_MICROVM: [&str; 2] = ["rhel", "centos"];

impl Distribution {
    /// Returns the distribution of this host; `None` if it is not known.
    #[must_use]
    pub fn of_host() -> Option<Self> {
        use std::io::Read as _;
        let mut text = String::new();
        let file = std::fs::File::open(Path::new(OS_RELEASE)).ok()?;
        file.take(OS_RELEASE_MAX_BYTES)
            .read_to_string(&mut text)
            .ok()?;
        Self::parse(&text)
    }

    /// Returns the distribution that the text of an os-release(5) is of: that of `ID`, or the closest of
    /// `ID_LIKE`. `None` if it is not known.
    #[must_use]
    pub fn parse(os_release: &str) -> Option<Self> {
        let value = |key: &str| {
            let lines = os_release.lines().map(str::trim);
            let mut values = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            let value = values.next().unwrap_or_default();
            value.trim_matches(['"', '\'']).to_owned()
        };
        let ids = format!("{} {}", value("ID"), value("ID_LIKE"));
        let mut ids = ids.split_ascii_whitespace();
        if ids.clone().any(|id| WITHOUT_MICROVM.contains(&id)) {
            return None;
        }
        let known = |id| DISTRIBUTIONS.into_iter().find(|each| each.id == id);
        ids.find_map(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relatives_are_known_by_the_distribution_that_they_are_like() {
        let id = |text: &str| Distribution::parse(text).map(|found| found.id);
        assert_eq!(id("NAME=\"Debian\"\nID=debian\n"), Some("debian"));
        assert_eq!(
            id("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"),
            Some("debian")
        );
        assert_eq!(
            id("ID=\"opensuse-leap\"\nID_LIKE='suse opensuse'\n"),
            Some("suse")
        );
        assert_eq!(id("ID=rocky\nID_LIKE=\"rhel centos fedora\"\n"), None);
        for unknown in ["", "ID=\n", "ID_LIKE", "ID=plan9\nVERSION_ID=debian\n"] {
            assert_eq!(id(unknown), None, "{unknown}");
        }
    }
}
