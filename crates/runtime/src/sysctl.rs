use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::kernel_word::encode;

/// Maximum length of all settings on the kernel's command line, in bytes: it has 2,048, of which mounts may
/// take 1,024.
const LIMIT_BYTES: usize = 512;
/// Maximum length of a setting's name, in bytes. The longest of Linux 6.12 with an interface's name has 71.
const NAME_MAX_BYTES: usize = 128;

/// Files below `/proc/sys` that are no settings to keep, each with the reason or the remedy.
const REFUSED: [(&str, &str); 9] = [
    ("kernel.hostname", "--hostname NAME sets it"),
    ("kernel.domainname", "--hostname takes the whole name"),
    ("kernel.cad_pid", "the guest's agent has that part"),
    ("kernel.ns_last_pid", "it changes with each process"),
    ("vm.drop_caches", "it is an action, not a setting"),
    ("vm.compact_memory", "it is an action, not a setting"),
    ("vm.stat_refresh", "it is an action, not a setting"),
    ("net.ipv4.route.flush", "it is an action, not a setting"),
    ("net.ipv6.route.flush", "it is an action, not a setting"),
];

/// A setting of the guest's kernel, a file below `/proc/sys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysctl {
    name: String,
    value: String,
}

/// The text is not a [`Sysctl`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SysctlError {
    /// The text has no value, or a part that no setting has.
    #[error("'{}' is not a kernel setting: write NAME=VALUE, such as net.core.somaxconn=1024", .text.escape_debug())]
    Form {
        /// The text that was refused.
        text: String,
    },
    /// The setting is one that cannot be kept.
    #[error("{name} cannot be set with --sysctl: {reason}")]
    Refused {
        /// The setting's name.
        name: String,
        /// The reason, and the remedy if there is one.
        reason: &'static str,
    },
    /// The settings do not fit on the kernel's command line.
    #[error(
        "the kernel settings are too long: {length_bytes} bytes together, the limit is {limit_bytes}"
    )]
    TooLong {
        /// Length of all settings, in bytes.
        length_bytes: usize,
        /// Limit, in bytes.
        limit_bytes: usize,
    },
}

impl Sysctl {
    /// Checks a setting. As with sysctl(8), the first separator of the name, `.` or `/`, separates all its
    /// parts; the other one stands for a dot or a slash in a part.
    ///
    /// # Errors
    /// A name or a value that no setting has, and a setting that cannot be kept.
    pub fn new(name: &str, value: &str) -> Result<Self, SysctlError> {
        let form = || SysctlError::Form {
            text: format!("{name}={value}"),
        };
        let name = dotted(name);
        let is_named = name.len() <= NAME_MAX_BYTES
            && name.split('.').count() > 1
            && name.split('.').all(is_part);
        if !is_named
            || value
                .chars()
                .any(|letter| letter.is_control() && letter != '\t')
        {
            return Err(form());
        }
        if let Some((_, reason)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return Err(SysctlError::Refused { name, reason });
        }
        let value = value.trim().to_owned();
        Ok(Self { name, value })
    }

    /// Returns the name, with dots between its parts.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value.
    pub fn value(&self) -> &str {
        &self.value
    }
}

/// Returns a name whose parts are separated by dots.
fn dotted(name: &str) -> String {
    let swapped = |letter| match letter {
        '/' => '.',
        '.' => '/',
        other => other,
    };
    match name.find(['.', '/']) {
        Some(first) if name[first..].starts_with('/') => name.chars().map(swapped).collect(),
        _ => name.to_owned(),
    }
}

fn is_part(part: &str) -> bool {
    // A slash is a dot of the file's name.
    !part.is_empty()
        && !part.starts_with('/')
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-/@:+".contains(&byte))
}

impl FromStr for Sysctl {
    type Err = SysctlError;

    fn from_str(text: &str) -> Result<Self, SysctlError> {
        let form = || SysctlError::Form {
            text: text.to_owned(),
        };
        let (name, value) = text.split_once('=').ok_or_else(form)?;
        Self::new(name, value)
    }
}

/// Settings of the guest's kernel, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    try_from = "BTreeMap<String, String>",
    into = "BTreeMap<String, String>"
)]
pub struct Sysctls(BTreeMap<String, String>);

impl Sysctls {
    /// Collects settings; the later of two with one name counts.
    ///
    /// # Errors
    /// If they are too long together.
    pub fn new(settings: impl IntoIterator<Item = Sysctl>) -> Result<Self, SysctlError> {
        let settings = settings.into_iter();
        let all = Self(settings.map(|one| (one.name, one.value)).collect());
        match all.word().len() {
            length_bytes if length_bytes > LIMIT_BYTES => Err(SysctlError::TooLong {
                length_bytes,
                limit_bytes: LIMIT_BYTES,
            }),
            _ => Ok(all),
        }
    }

    /// Returns the kernel argument from which the guest's agent reads the settings; `None` without settings.
    pub(crate) fn kernel_word(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| format!("msb_sysctl={}", self.word()))
    }

    /// Returns `NAME=VALUE`, joined by `;`. Values are encoded.
    fn word(&self) -> String {
        let mut word = String::new();
        for (name, value) in &self.0 {
            if !word.is_empty() {
                word.push(';');
            }
            word.push_str(name);
            word.push('=');
            word.push_str(&encode(value));
        }
        word
    }
}

impl TryFrom<BTreeMap<String, String>> for Sysctls {
    type Error = SysctlError;

    fn try_from(settings: BTreeMap<String, String>) -> Result<Self, SysctlError> {
        let settings = settings
            .iter()
            .map(|(name, value)| Sysctl::new(name, value));
        Self::new(settings.collect::<Result<Vec<_>, _>>()?)
    }
}

impl From<Sysctls> for BTreeMap<String, String> {
    fn from(settings: Sysctls) -> Self {
        settings.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, String), SysctlError> {
        text.parse::<Sysctl>().map(|one| (one.name, one.value))
    }

    #[test]
    fn settings_are_read_as_sysctl_reads_them() {
        let ok = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(
            read("net.core.somaxconn=1024"),
            ok("net.core.somaxconn", "1024")
        );
        assert_eq!(read("net/core/somaxconn=1"), ok("net.core.somaxconn", "1"));
        assert_eq!(
            read("net/ipv4/conf/eth0.1/forwarding=1"),
            ok("net.ipv4.conf.eth0/1.forwarding", "1")
        );
        assert_eq!(
            read("kernel.sem=250 32000\t100 128"),
            ok("kernel.sem", "250 32000\t100 128")
        );
        assert_eq!(
            read("kernel.core_pattern=a=b"),
            ok("kernel.core_pattern", "a=b")
        );
        assert_eq!(
            read("net.ipv4.ip_local_reserved_ports="),
            ok("net.ipv4.ip_local_reserved_ports", "")
        );
    }

    #[test]
    fn others_are_refused() {
        let long = format!("a.{}=1", "b".repeat(NAME_MAX_BYTES));
        for text in [
            "",
            "a.b",
            "=1",
            "somaxconn=1",
            "a..b=1",
            ".a=1",
            "a.=1",
            "a.b/../c=1",
            "/a/b=1",
            "a.b c=1",
            "a.b;c=1",
            "a.b=1\n",
            "a.b=\0",
            "../../etc/x=1",
            "a.%2e=1",
            &long,
        ] {
            let refused = read(text);
            assert!(
                matches!(refused, Err(SysctlError::Form { .. })),
                "{text:?}: {refused:?}"
            );
        }
        let refused = read("kernel/hostname=x").expect_err("a name");
        assert_eq!(
            refused.to_string(),
            "kernel.hostname cannot be set with --sysctl: --hostname NAME sets it"
        );
    }

    #[test]
    fn the_guest_is_told_of_all_settings_in_one_word() {
        let one = |text: &str| text.parse::<Sysctl>().expect("a setting");
        let settings = Sysctls::new([one("b.c=2 3"), one("a.b=0"), one("a.b=1;x")]).expect("short");
        assert_eq!(
            settings.kernel_word().as_deref(),
            Some("msb_sysctl=a.b=1%3bx;b.c=2%203")
        );
        assert_eq!(Sysctls::default().kernel_word(), None);
        let long = Sysctls::new([Sysctl::new("a.b", &"x".repeat(LIMIT_BYTES)).expect("a setting")]);
        assert!(matches!(long, Err(SysctlError::TooLong { .. })), "{long:?}");
    }
}
