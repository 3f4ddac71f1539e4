//! The host's word about mounts.

use std::io;

use rustix::mount::MountFlags;

use super::BootError;
use super::error::step;

/// The word on the kernel's command line: `KIND:SOURCE:OPTIONS:TARGET`, joined by `;`.
const MOUNTS_VARIABLE: &str = "msb_mounts";

/// What is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A volume's disk, by serial.
    Disk,
    /// A host directory, by tag.
    Share,
    /// Memory.
    Tmpfs,
}

/// One mount that the host asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) kind: Kind,
    /// The serial or tag.
    pub(super) source: String,
    pub(super) flags: MountFlags,
    /// What the filesystem itself is told.
    pub(super) data: String,
    /// Where, from the sandbox's root.
    pub(super) target: String,
}

pub(super) fn from_host() -> Result<Vec<Given>, BootError> {
    let word = std::env::var(MOUNTS_VARIABLE).unwrap_or_default();
    let mounts = word.split(';').filter(|mount| !mount.is_empty());
    mounts
        .map(|mount| {
            // A newer host may know more.
            let unknown =
                || step(&format!("read the mount '{mount}'"))(io::ErrorKind::InvalidInput);
            parse(mount).ok_or_else(unknown)
        })
        .collect()
}

fn parse(mount: &str) -> Option<Given> {
    let mut parts = mount.splitn(4, ':');
    let kind = match parts.next()? {
        "disk" => Kind::Disk,
        "share" => Kind::Share,
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
            // The last of two equal words wins.
            option if option.starts_with("size=") || option.starts_with("mode=") => {
                data.push(option);
            }
            _ => return None,
        }
    }
    let target = decode(parts.next()?)?;
    Some(Given {
        kind,
        source,
        flags,
        data: data.join(","),
        target,
    })
}

/// Reads `%` and two hex digits as the byte they stand for.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let value = digit(rest.next())? * 16 + digit(rest.next())?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
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
