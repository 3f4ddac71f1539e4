use std::path::PathBuf;

use msb_runtime::{Rule, Staged};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Error, IntoSize, Size};

/// A mount of a sandbox: a directory or file of the host, a volume, or memory, at a path of the
/// sandbox.
///
/// ```
/// use msb_sdk::Mount;
///
/// let source = Mount::bind("./src", "/src").read_only();
/// let cache = Mount::volume("cache", "/root/.cache");
/// let memory = Mount::tmpfs("/scratch");
/// # let _ = (source, cache, memory);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Mount {
    /// The kind of the source.
    #[serde(rename = "type")]
    pub kind: MountKind,
    /// The path on the host, or the volume's name; `None` for memory and unnamed volumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The mount's path in the sandbox.
    pub target: String,
    /// True if the sandbox can only read the mount, even as root.
    #[serde(default)]
    pub read_only: bool,
    /// Size of an unnamed volume, or the maximum size of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// The permission bits of the root directory of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// True if programs can be run from memory.
    #[serde(default)]
    pub exec: bool,
    /// The rules of the files of a directory of the host; their paths are relative to it. In JSON, a rule is text,
    /// `PATH=STATE`, or an object with `path` and `state`. Under QEMU, rules of a shared directory hold at each
    /// access, and `ask` and `write-ask` ask the user while the process waits.
    #[serde(
        default,
        deserialize_with = "rules",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub rules: Vec<Rule>,
    /// False if the default rules of staged directories do not count: they hide secrets, and keep changes back
    /// that make programs of the host run commands.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub default_rules: bool,
}

/// The kind of a mount's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MountKind {
    /// A directory or a file of the host.
    Bind,
    /// A directory of the host as it is when the sandbox is created. The sandbox's changes stay in the sandbox
    /// until they are applied.
    Staged,
    /// A volume with a name, or one without that is removed with the sandbox.
    Volume,
    /// Memory of the guest, empty at each start.
    Tmpfs,
}

impl Mount {
    fn new(kind: MountKind, source: Option<String>, target: impl Into<String>) -> Self {
        Self {
            kind,
            source,
            target: target.into(),
            read_only: false,
            size: None,
            mode: None,
            exec: false,
            rules: Vec::new(),
            default_rules: true,
        }
    }

    /// Returns a mount of a directory or a file of the host. A relative path starts at the
    /// working directory of this process.
    pub fn bind(source: impl Into<String>, target: impl Into<String>) -> Self {
        Self::new(MountKind::Bind, Some(source.into()), target)
    }

    /// Returns a mount of a directory of the host as it is when the sandbox is created. The sandbox's changes
    /// stay in the sandbox until [`Sandbox::apply_staged`](crate::Sandbox::apply_staged) puts them into the
    /// directory.
    ///
    /// ```
    /// use msb_sdk::Mount;
    ///
    /// let work = Mount::staged(".", "/work").rule("target=hide")?.rule("docs=read-only")?;
    /// assert_eq!(work.rules.len(), 2);
    /// # Ok::<(), msb_sdk::Error>(())
    /// ```
    pub fn staged(source: impl Into<String>, target: impl Into<String>) -> Self {
        Self::new(MountKind::Staged, Some(source.into()), target)
    }

    /// Adds a rule for files of a directory of the host, `PATH=STATE`. The path is relative to the directory.
    ///
    /// # Errors
    /// Text that is not a rule.
    pub fn rule(mut self, rule: &str) -> Result<Self, Error> {
        self.rules.push(rule.parse::<Rule>()?);
        Ok(self)
    }

    /// Leaves the default rules of a staged directory out.
    #[must_use]
    pub fn without_default_rules(mut self) -> Self {
        self.default_rules = false;
        self
    }

    /// Returns a mount of a named volume, which is created if it does not exist.
    pub fn volume(name: impl Into<String>, target: impl Into<String>) -> Self {
        Self::new(MountKind::Volume, Some(name.into()), target)
    }

    /// Returns a mount of a new volume that is removed with the sandbox.
    pub fn unnamed_volume(target: impl Into<String>) -> Self {
        Self::new(MountKind::Volume, None, target)
    }

    /// Returns a mount of memory.
    pub fn tmpfs(target: impl Into<String>) -> Self {
        Self::new(MountKind::Tmpfs, None, target)
    }

    /// Keeps the sandbox from writing to the mount.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Sets the size of an unnamed volume, or the maximum size of memory.
    ///
    /// # Errors
    /// Text that is not a size.
    pub fn size(mut self, size: impl IntoSize) -> Result<Self, Error> {
        self.size = Some(size.into_size()?);
        Ok(self)
    }

    pub(crate) fn resolved(&self) -> Result<msb_runtime::Mount, Error> {
        Ok(msb_runtime::Mount {
            target: self.target()?,
            read_only: self.read_only,
            source: self.resolved_source()?,
        })
    }

    fn target(&self) -> Result<msb_runtime::Target, Error> {
        self.target.parse().map_err(|error| {
            Error::invalid(msb_client::printable(&format!("{error}")))
                .with_detail("path", self.target.as_str())
        })
    }

    fn resolved_source(&self) -> Result<msb_runtime::Source, Error> {
        let target = || msb_client::printable(&self.target);
        if self.kind != MountKind::Tmpfs && (self.mode.is_some() || self.exec) {
            let message = format!("the mount at {}: mode and exec are for tmpfs", target());
            return Err(Error::invalid(message));
        }
        let needs_no_size = matches!(self.kind, MountKind::Bind | MountKind::Staged)
            || (self.kind == MountKind::Volume && self.source.is_some());
        if needs_no_size && self.size.is_some() {
            let message = format!(
                "the mount at {}: a size is for tmpfs and unnamed volumes",
                target()
            );
            return Err(Error::invalid(message));
        }
        let takes_rules = matches!(self.kind, MountKind::Staged | MountKind::Bind);
        let has_defaults = self.default_rules || self.kind == MountKind::Staged;
        if !(has_defaults && (takes_rules || self.rules.is_empty())) {
            let message = format!(
                "the mount at {}: rules are for directories of the host, and default rules for staged ones",
                target()
            );
            return Err(Error::invalid(message));
        }
        match (self.kind, &self.source) {
            (MountKind::Staged, Some(path)) => Ok(msb_runtime::Source::Staged(Staged {
                directory: Some(absolute(path)?),
                rules: self.rules.clone(),
                default_rules: self.default_rules,
            })),
            (MountKind::Bind, Some(path)) => Ok(msb_runtime::Source::Bind {
                directory: absolute(path)?,
                rules: self.rules.clone(),
            }),
            (MountKind::Volume, Some(name)) => Ok(msb_runtime::Source::Volume {
                volume: name.parse()?,
            }),
            (MountKind::Volume, None) => Ok(msb_runtime::Source::Anonymous {
                size_bytes: self.size.map_or(msb_runtime::VOLUME_BYTES, Size::bytes),
            }),
            (MountKind::Tmpfs, None) => Ok(msb_runtime::Source::Tmpfs {
                size_bytes: self.size.map(Size::bytes),
                mode: self.mode,
                exec: self.exec,
            }),
            (MountKind::Bind | MountKind::Staged, None) => Err(Error::invalid(format!(
                "the mount at {} has no path on the host",
                target()
            ))),
            (MountKind::Tmpfs, Some(_)) => Err(Error::invalid(format!(
                "the mount at {}: tmpfs has no source",
                target()
            ))),
        }
    }
}

/// Reads rules, each of which is text or an object.
fn rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    let written = Vec::<serde_json::Value>::deserialize(deserializer)?;
    let rules = written.into_iter().map(|written| match written {
        serde_json::Value::String(text) => text.parse::<Rule>().map_err(D::Error::custom),
        object => Rule::deserialize(object).map_err(D::Error::custom),
    });
    rules.collect()
}

const fn yes() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_true(value: &bool) -> bool {
    *value
}

/// Returns an absolute path; one that begins with `/` stays unchanged.
fn absolute(path: &str) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| {
        Error::from(error)
            .or_kind(crate::ErrorKind::InvalidArgument)
            .context(format!("cannot mount the host's '{path}'"))
            .with_detail("path", path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_other_kinds_are_refused() {
        let mut bind = Mount::bind("/a", "/b").read_only();
        assert!(bind.resolved().is_ok());
        bind.exec = true;
        assert!(bind.resolved().is_err());
        let volume = Mount::volume("v", "/b").size("1G").expect("a size");
        assert!(volume.resolved().is_err());
        assert!(Mount::volume("no/name", "/b").resolved().is_err());
        assert!(Mount::tmpfs("relative").resolved().is_err());
    }
}
