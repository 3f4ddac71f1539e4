use std::str::FromStr;

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
    pub(crate) name: String,
    pub(crate) value: String,
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
}
