use std::fmt::Write as _;

use msb_sandbox_model::kernel_word::encode;
use msb_vmm::DiskAccess;

use super::room::StartOptions;
use super::{Mount, MountError, Source};

/// Maximum length of the description of the mounts on the kernel's command line, in bytes.
const LIMIT_BYTES: usize = 1024;

/// The serial of the disk of all staged directories.
pub(super) const STAGED_SERIAL: &str = "msb-staged";

/// Returns the kernel argument that describes the mounts; `None` without mounts.
/// Each mount is `KIND:SOURCE:OPTIONS:TARGET`; they are joined by `;` in their order. A source is
/// the serial of a disk, the tag of a share, a tag and the name of an entry, `TAG/NAME`, or the serial of the
/// disk of staged directories and the number of one, `SERIAL/NUMBER`. Targets are encoded.
pub(super) fn word(
    mounts: &[Mount],
    places: &[StartOptions],
) -> Result<Option<String>, MountError> {
    let each = mounts.iter().zip(places).enumerate();
    let each: Vec<_> = each
        .map(|(index, (mount, place))| one(index, mount, *place))
        .collect();
    let word = each.join(";");
    if word.len() > LIMIT_BYTES {
        return Err(MountError::TooLong {
            length_bytes: word.len(),
            limit_bytes: LIMIT_BYTES,
        });
    }
    Ok((!word.is_empty()).then(|| format!("msb_mounts={word}")))
}

/// Returns the serial by which the guest finds a volume's disk.
pub(super) fn serial(index: usize) -> String {
    format!("msb-volume-{index}")
}

/// Returns the tag by which the guest finds a share of one directory.
pub(super) fn tag(index: usize) -> String {
    format!("msb-share-{index}")
}

/// Returns the tag by which the guest finds the share of all entries with this access.
pub(super) const fn tag_of_entries(access: DiskAccess) -> &'static str {
    match access {
        DiskAccess::ReadOnly => "msb-ro",
        DiskAccess::ReadWrite => "msb-rw",
    }
}

/// Returns the name by which the guest finds an entry of a share.
pub(super) fn entry_name(index: usize) -> String {
    index.to_string()
}

fn one(index: usize, mount: &Mount, place: StartOptions) -> String {
    let access = if mount.read_only { "ro" } else { "rw" };
    let entry = match place {
        StartOptions::Entry(access) => {
            Some(format!("{}/{}", tag_of_entries(access), entry_name(index)))
        }
        StartOptions::Staged(number) => Some(format!("{STAGED_SERIAL}/{number}")),
        StartOptions::Device | StartOptions::Guest => None,
    };
    let (kind, source, options) = match &mount.source {
        Source::Bind { .. } => (
            "share",
            entry.unwrap_or_else(|| tag(index)),
            access.to_owned(),
        ),
        Source::Staged(_) => ("staged", entry.unwrap_or_default(), access.to_owned()),
        Source::BindFile { .. } => (
            "file",
            entry.unwrap_or_else(|| tag(index)),
            access.to_owned(),
        ),
        Source::Volume { .. } | Source::Anonymous { .. } => (
            "disk",
            entry.unwrap_or_else(|| serial(index)),
            access.to_owned(),
        ),
        Source::Tmpfs {
            size_bytes,
            mode,
            exec,
        } => {
            let mut options = access.to_owned();
            if *exec {
                options.push_str(",exec");
            }
            if let Some(size_bytes) = size_bytes {
                let _ = write!(options, ",size={size_bytes}");
            }
            if let Some(mode) = mode {
                let _ = write!(options, ",mode={mode:o}");
            }
            ("tmpfs", String::new(), options)
        }
    };
    let target = encode(mount.target.as_str());
    format!("{kind}:{source}:{options}:{target}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(target: &str, read_only: bool, source: Source) -> Mount {
        Mount {
            target: target.parse().expect("a target"),
            read_only,
            source,
        }
    }

    #[test]
    fn the_guest_is_told_of_each() {
        let bind = Source::Bind {
            directory: "/srv".into(),
            rules: Vec::new(),
        };
        let volume = Source::Volume {
            volume: "data".parse().expect("a name"),
        };
        let tmpfs = Source::Tmpfs {
            size_bytes: Some(4096),
            mode: Some(0o1777),
            exec: true,
        };
        let mounts = [
            mount("/a b;c", true, bind),
            mount("/d", false, volume),
            mount("/e", false, tmpfs),
        ];
        let places = [
            StartOptions::Device,
            StartOptions::Entry(DiskAccess::ReadWrite),
            StartOptions::Guest,
        ];
        assert_eq!(
            word(&mounts, &places).expect("short").as_deref(),
            Some(
                "msb_mounts=share:msb-share-0:ro:/a%20b%3bc;disk:msb-rw/1:rw:/d;\
                 tmpfs::rw,exec,size=4096,mode=1777:/e"
            )
        );
        assert_eq!(word(&[], &[]).expect("nothing"), None);
    }

    #[test]
    fn too_much_is_refused() {
        let source = Source::Anonymous { size_bytes: 0 };
        let mounts = [mount(&format!("/{}", "x".repeat(1100)), false, source)];
        let word = word(&mounts, &[StartOptions::Device]);
        assert!(matches!(word, Err(MountError::TooLong { .. })));
    }
}
