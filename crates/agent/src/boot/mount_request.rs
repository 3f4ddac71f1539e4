//! The mounts that the host asks for.

use std::io;
use std::path::Path;

use msb_sandbox_model::kernel_word::decode;
use rustix::mount::MountFlags;

use super::BootError;
use super::error::step;

/// The word on the kernel's command line: `KIND:SOURCE:OPTIONS:TARGET`, joined by `;`.
const MOUNTS_VARIABLE: &str = "msb_mounts";

/// The kind of a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A volume's disk, by serial.
    Disk,
    /// A host directory, by tag.
    Share,
    /// A file of the host, by tag.
    File,
    /// A directory of the host that is staged, by the serial of its disk and its number, `SERIAL/NUMBER`.
    Staged,
    /// A tmpfs, held in guest memory.
    Tmpfs,
}

/// A mount that the host asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MountRequest {
    pub(super) kind: Kind,
    /// The serial or tag; `TAG/NAME` for an entry of a share.
    pub(super) source: String,
    pub(super) flags: MountFlags,
    /// Options of the filesystem itself, separated by commas.
    pub(super) data: String,
    /// The mount point, as a path from the sandbox's root.
    pub(super) target: String,
}

pub(super) fn from_host() -> Result<Vec<MountRequest>, BootError> {
    let word = std::env::var(MOUNTS_VARIABLE).unwrap_or_default();
    let mounts = word.split(';').filter(|mount| !mount.is_empty());
    mounts
        .map(|mount| {
            // A newer host may send kinds and options that this agent does not know.
            let unknown =
                || step(&format!("read the mount '{mount}'"))(io::ErrorKind::InvalidInput);
            parse(mount).ok_or_else(unknown)
        })
        .collect()
}

/// Returns true if the host asks for a mount at this path.
pub(super) fn has_target(path: &Path) -> bool {
    let given = from_host().unwrap_or_default();
    given.iter().any(|given| Path::new(&given.target) == path)
}

fn parse(mount: &str) -> Option<MountRequest> {
    let mut parts = mount.splitn(4, ':');
    let kind = match parts.next()? {
        "disk" => Kind::Disk,
        "share" => Kind::Share,
        "file" => Kind::File,
        "staged" => Kind::Staged,
        "tmpfs" => Kind::Tmpfs,
        _ => return None,
    };
    let source = parts.next()?.to_owned();
    let mut flags = MountFlags::empty();
    let mut data = Vec::new();
    if kind == Kind::Tmpfs {
        flags |= MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        data.push("mode=1777");
    }
    for option in parts.next()?.split(',') {
        match option {
            "ro" => flags |= MountFlags::RDONLY,
            "rw" => {}
            "exec" => flags -= MountFlags::NOEXEC,
            // If an option is repeated, its last value counts.
            option if option.starts_with("size=") || option.starts_with("mode=") => {
                data.push(option);
            }
            _ => return None,
        }
    }
    let target = decode(parts.next()?)?;
    Some(MountRequest {
        kind,
        source,
        flags,
        data: data.join(","),
        target,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_words_are_read() {
        let share = parse("share:msb-share-0:ro:/a%20b%3bc").unwrap();
        assert_eq!(share.kind, Kind::Share);
        assert_eq!(share.source, "msb-share-0");
        assert_eq!(share.flags, MountFlags::RDONLY);
        assert_eq!(share.target, "/a b;c");
        let file = parse("file:msb-rw/3:rw:/etc/x").unwrap();
        assert_eq!((file.kind, file.source.as_str()), (Kind::File, "msb-rw/3"));
        let tmpfs = parse("tmpfs::rw,exec,size=4096,mode=700:/e").unwrap();
        assert_eq!(tmpfs.flags, MountFlags::NOSUID | MountFlags::NODEV);
        assert_eq!(tmpfs.data, "mode=1777,size=4096,mode=700");
        for word in [
            "",
            "disk:a:rw",
            "nfs:a:rw:/x",
            "disk:a:frozen:/x",
            "disk:a:rw:/%zz",
            "disk:a:rw:/%f",
        ] {
            assert_eq!(parse(word), None, "{word}");
        }
    }
}
