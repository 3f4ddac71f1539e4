//! Options for mounts as users type them: `-v`, `--mount`, `--tmpfs`.

use std::path::PathBuf;
use std::str::FromStr;

use msb_runtime::{Mount, Source, Staged, Target, VOLUME_BYTES};

use crate::output::parse_size;

/// A value of `-v`: `HOST:GUEST[:ro|staged]`, `NAME:GUEST[:ro]` or `GUEST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeOption {
    /// The mount that the value describes.
    pub mount: Mount,
    /// True if the value asks for an SELinux label (`z`, `Z`), which changes nothing.
    pub has_label: bool,
}

/// A value of `--mount`: `type=bind|volume|tmpfs,source=...,target=...,readonly`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountOption(pub Mount);

/// A value of `--tmpfs`: `GUEST[:size=SIZE,mode=MODE,exec,ro]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmpfsOption(pub Mount);

impl FromStr for VolumeOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<_> = text.split(':').collect();
        let (source, path, options) = match parts[..] {
            [target] => (anonymous(), target, ""),
            [source, target] => (named(source)?, target, ""),
            [source, target, options] => (named(source)?, target, options),
            _ => {
                return Err(format!(
                    "'{text}' has too many colons: write HOST:GUEST[:ro]"
                ));
            }
        };
        let (mut read_only, mut has_label, mut is_staged) = (false, false, false);
        for option in options.split(',') {
            match option {
                "" => {}
                "rw" => read_only = false,
                "ro" => read_only = true,
                "z" | "Z" => has_label = true,
                "staged" => is_staged = true,
                other => {
                    return Err(format!(
                        "'{other}' is not an option of a volume: write ro, rw or staged"
                    ));
                }
            }
        }
        let source = if is_staged { staged(source)? } else { source };
        let mount = Mount {
            target: target(path)?,
            read_only,
            source,
        };
        Ok(Self { mount, has_label })
    }
}

/// Parses a source of `-v`: a path begins with `/` or `.`, anything else is a volume's name. A `~`
/// that the shell did not expand is refused.
fn named(source: &str) -> Result<Source, String> {
    if source.starts_with('~') {
        return Err(format!(
            "'{source}' begins with ~, which the shell did not expand; write $HOME"
        ));
    }
    if source.starts_with(['/', '.']) {
        return Ok(bind(source));
    }
    let volume = source.parse().map_err(error)?;
    Ok(Source::Volume { volume })
}

fn bind(path: &str) -> Source {
    Source::Bind {
        directory: PathBuf::from(path),
        rules: Vec::new(),
    }
}

/// Returns the source as one that is staged.
fn staged(source: Source) -> Result<Source, String> {
    match source {
        Source::Bind { directory, .. } => Ok(Source::Staged(Staged {
            directory: Some(directory),
            rules: Vec::new(),
            default_rules: true,
        })),
        _ => Err("only a directory of the host can be staged: write ./DIR:PATH:staged".to_owned()),
    }
}

const fn anonymous() -> Source {
    Source::Anonymous {
        size_bytes: VOLUME_BYTES,
    }
}

fn target(path: &str) -> Result<Target, String> {
    path.parse().map_err(error)
}

fn error(error: impl std::error::Error) -> String {
    error.to_string()
}

/// The settings of `--mount`, by key.
#[derive(Debug, Default)]
struct Keys<'a> {
    kind: Option<&'a str>,
    source: Option<&'a str>,
    target: Option<&'a str>,
    read_only: bool,
    is_staged: bool,
    size: Option<&'a str>,
    mode: Option<&'a str>,
}

impl FromStr for MountOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let keys = Keys::read(text)?;
        let path = keys.target.ok_or("a mount needs target=PATH")?;
        let source = match keys.kind.unwrap_or("volume") {
            "tmpfs" => keys.tmpfs()?,
            kind if keys.size.is_some() || keys.mode.is_some() => {
                return Err(format!(
                    "a {kind} mount cannot have tmpfs-size or tmpfs-mode"
                ));
            }
            "bind" => bind(keys.source.ok_or("a bind needs source=PATH")?),
            "volume" => match keys.source {
                None => anonymous(),
                Some(name) => Source::Volume {
                    volume: name.parse().map_err(error)?,
                },
            },
            kind => {
                return Err(format!(
                    "'{kind}' is not a type of mount: write bind, volume or tmpfs"
                ));
            }
        };
        let source = if keys.is_staged {
            staged(source)?
        } else {
            source
        };
        Ok(Self(Mount {
            target: target(path)?,
            read_only: keys.read_only,
            source,
        }))
    }
}

impl<'a> Keys<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        let mut keys = Self::default();
        for pair in text.split(',') {
            let (key, value) = match pair.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None => (pair, None),
            };
            let slot = match key {
                "type" => &mut keys.kind,
                "source" | "src" => &mut keys.source,
                "target" | "destination" | "dst" => &mut keys.target,
                "tmpfs-size" => &mut keys.size,
                "tmpfs-mode" => &mut keys.mode,
                "readonly" | "ro" => {
                    keys.read_only = is_true(key, value)?;
                    continue;
                }
                "staged" => {
                    keys.is_staged = is_true(key, value)?;
                    continue;
                }
                _ => {
                    return Err(format!(
                        "'{pair}' is not a setting of a mount: write type=, source=, target=, \
                         readonly, staged, tmpfs-size= or tmpfs-mode="
                    ));
                }
            };
            let value = value.filter(|value| !value.is_empty());
            *slot = Some(value.ok_or_else(|| format!("'{key}' needs a value: {key}=..."))?);
        }
        Ok(keys)
    }

    fn tmpfs(&self) -> Result<Source, String> {
        if let Some(source) = self.source {
            return Err(format!(
                "a tmpfs cannot have the source '{source}'; leave source= out"
            ));
        }
        Ok(Source::Tmpfs {
            size_bytes: self.size.map(size).transpose()?,
            mode: self.mode.map(mode).transpose()?,
            exec: false,
        })
    }
}

fn is_true(key: &str, value: Option<&str>) -> Result<bool, String> {
    match value {
        None | Some("true" | "1") => Ok(true),
        Some("false" | "0") => Ok(false),
        Some(other) => Err(format!(
            "'{other}' is not a value of '{key}': write true or false"
        )),
    }
}

fn size(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        0 => {
            Err("the size of a tmpfs must be at least 1 byte, because 0 means no limit".to_owned())
        }
        size_bytes => Ok(size_bytes),
    }
}

fn mode(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777)
        .ok_or_else(|| format!("'{text}' is not a mode: write octal digits such as 1777 or 700"))
}

impl FromStr for TmpfsOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, options) = text.split_once(':').unwrap_or((text, ""));
        let (mut size_bytes, mut bits, mut exec, mut read_only) = (None, None, false, false);
        for option in options.split(',').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("size", value)) => size_bytes = Some(size(value)?),
                Some(("mode", value)) => bits = Some(mode(value)?),
                None if option == "exec" => exec = true,
                None if option == "ro" => read_only = true,
                // These options are the default.
                None if ["rw", "noexec", "nosuid", "nodev"].contains(&option) => {}
                _ => {
                    return Err(format!(
                        "'{option}' is not an option of a tmpfs: write size=, mode=, exec or ro"
                    ));
                }
            }
        }
        Ok(Self(Mount {
            target: target(path)?,
            read_only,
            source: Source::Tmpfs {
                size_bytes,
                mode: bits,
                exec,
            },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(text: &str) -> (Source, String, bool) {
        let VolumeOption { mount, .. } = text.parse().unwrap();
        (mount.source, mount.target.to_string(), mount.read_only)
    }

    fn named_volume(name: &str) -> Source {
        Source::Volume {
            volume: name.parse().unwrap(),
        }
    }

    #[test]
    fn volumes_are_read_as_docker_reads_them() {
        assert_eq!(volume("/a:/b"), (bind("/a"), "/b".to_owned(), false));
        assert_eq!(volume("./a:/b:ro"), (bind("./a"), "/b".to_owned(), true));
        assert_eq!(
            volume("data:/b/:rw"),
            (named_volume("data"), "/b".to_owned(), false)
        );
        assert_eq!(volume("/b"), (anonymous(), "/b".to_owned(), false));
        for text in [
            "",
            "a",
            "a:b",
            "/a:b",
            ":/b",
            "a/b:/c",
            "~/a:/b",
            "/a:/b:rx",
            "/a:/b:ro:x",
            "/a:/",
            "/a:/proc",
        ] {
            assert!(text.parse::<VolumeOption>().is_err(), "{text}");
        }
    }

    #[test]
    fn mounts_are_read_key_by_key() {
        let read = |text: &str| text.parse::<MountOption>().map(|MountOption(mount)| mount);
        let mount = read("type=bind,src=/a b,dst=/b,readonly").unwrap();
        assert_eq!((mount.source, mount.read_only), (bind("/a b"), true));
        let mount = read("source=data,target=/b,ro=false").unwrap();
        assert_eq!(
            (mount.source, mount.read_only),
            (named_volume("data"), false)
        );
        assert_eq!(read("target=/b").unwrap().source, anonymous());
        let mount = read("type=tmpfs,destination=/b,tmpfs-size=1M,tmpfs-mode=700").unwrap();
        let tmpfs = Source::Tmpfs {
            size_bytes: Some(1 << 20),
            mode: Some(0o700),
            exec: false,
        };
        assert_eq!(mount.source, tmpfs);
        for text in [
            "",
            "type=bind,target=/b",
            "type=nfs,target=/b",
            "type=tmpfs,source=a,target=/b",
            "type=bind,source=/a,target=/b,tmpfs-size=1M",
            "source=data",
            "target=",
            "target=/b,readonly=maybe",
            "target=/b,bind-propagation=shared",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn tmpfs_options_are_read() {
        let read = |text: &str| text.parse::<TmpfsOption>().map(|TmpfsOption(mount)| mount);
        let mount = read("/a:rw,noexec,size=64k,mode=1777,exec").unwrap();
        let tmpfs = Source::Tmpfs {
            size_bytes: Some(64 << 10),
            mode: Some(0o1777),
            exec: true,
        };
        assert_eq!((mount.source, mount.read_only), (tmpfs, false));
        assert!(read("/a:ro").unwrap().read_only);
        for text in [
            "",
            "a",
            "/a:size=",
            "/a:size=x",
            "/a:size=0",
            "/a:mode=9",
            "/a:uid=1",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
