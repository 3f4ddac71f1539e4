use std::fmt::Write as _;

use super::{Mount, MountError, Source, serial, tag};

/// The most that mounts may take on the kernel's command line, in bytes.
const LIMIT_BYTES: usize = 1024;

/// What the guest's agent is told of the mounts, in their order: `KIND:SOURCE:OPTIONS:TARGET`, joined by
/// `;`. Bytes of a target that would not stay in one word are written as `%` and two hex digits.
pub(crate) fn word(mounts: &[Mount]) -> Result<Option<String>, MountError> {
    let each = mounts.iter().enumerate();
    let each: Vec<_> = each.map(|(index, mount)| one(index, mount)).collect();
    let word = each.join(";");
    if word.len() > LIMIT_BYTES {
        return Err(MountError::TooLong {
            length_bytes: word.len(),
            limit_bytes: LIMIT_BYTES,
        });
    }
    Ok((!word.is_empty()).then(|| format!("msb_mounts={word}")))
}

fn one(index: usize, mount: &Mount) -> String {
    let access = if mount.read_only { "ro" } else { "rw" };
    let (kind, source, options) = match &mount.source {
        Source::Bind { .. } => ("share", tag(index), access.to_owned()),
        Source::Volume { .. } | Source::Anonymous { .. } => {
            ("disk", serial(index), access.to_owned())
        }
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

fn encode(path: &str) -> String {
    let mut encoded = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-+@".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02x}");
        }
    }
    encoded
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
        assert_eq!(
            word(&mounts).expect("short").as_deref(),
            Some(
                "msb_mounts=share:msb-share-0:ro:/a%20b%3bc;disk:msb-volume-1:rw:/d;\
                 tmpfs::rw,exec,size=4096,mode=1777:/e"
            )
        );
        assert_eq!(word(&[]).expect("nothing"), None);
    }

    #[test]
    fn too_much_is_refused() {
        let source = Source::Anonymous { size_bytes: 0 };
        let mounts = [mount(&format!("/{}", "x".repeat(1100)), false, source)];
        assert!(matches!(word(&mounts), Err(MountError::TooLong { .. })));
    }
}
