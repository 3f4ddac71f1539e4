//! The options of mounts, by the names of mount(8) and of runc.

use container_plan::{Filesystem, Propagation, flags};

use crate::propagation::named;

/// The effect of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MountOption {
    /// Nothing: the default, or without meaning in a guest.
    Nothing,
    /// A bind of the source alone.
    Bind,
    /// A bind with the mounts below its source.
    RecursiveBind,
    /// A flag that is set.
    Set(u32),
    /// A flag that is cleared.
    Clear(u32),
    /// A flag that is set for all mounts below, too.
    SetRecursive(u32),
    /// A flag that is cleared for all mounts below, too.
    ClearRecursive(u32),
    /// A propagation that is not shared.
    Propagation(Propagation),
    /// Shared propagation, which is refused.
    Shared,
    /// A copy of the destination's files.
    CopyUp,
}

/// The flags, and the words that set and clear them. With an `r` before it, a word is about all mounts below.
const FLAGS: [(&str, &str, u32); 10] = [
    ("ro", "rw", flags::READ_ONLY),
    ("nosuid", "suid", flags::NO_SUID),
    ("nodev", "dev", flags::NO_DEV),
    ("noexec", "exec", flags::NO_EXEC),
    ("nosymfollow", "symfollow", flags::NO_SYMFOLLOW),
    ("noatime", "atime", flags::NO_ATIME),
    ("nodiratime", "diratime", flags::NO_DIR_ATIME),
    ("relatime", "norelatime", flags::REL_ATIME),
    ("strictatime", "nostrictatime", flags::STRICT_ATIME),
    ("lazytime", "nolazytime", flags::LAZY_TIME),
];

/// The flags of filesystems, which no word is recursive for.
const FILESYSTEM_FLAGS: [(&str, &str, u32); 2] = [
    ("sync", "async", flags::SYNCHRONOUS),
    ("dirsync", "", flags::DIR_SYNC),
];

/// The options without an effect.
const NOTHING: [&str; 6] = ["defaults", "loud", "silent", "nomand", "noiversion", "acl"];

/// Returns the effect of an option; `None` for data of a filesystem, and for what is unknown.
pub(crate) fn parse(option: &str) -> Option<MountOption> {
    match option {
        "bind" => return Some(MountOption::Bind),
        "rbind" => return Some(MountOption::RecursiveBind),
        "shared" | "rshared" => return Some(MountOption::Shared),
        "tmpcopyup" => return Some(MountOption::CopyUp),
        option if NOTHING.contains(&option) => return Some(MountOption::Nothing),
        _ => {}
    }
    if let Some(propagation) = named(option) {
        return Some(MountOption::Propagation(propagation));
    }
    if let Some((flag, is_set)) = find(FLAGS.iter().chain(&FILESYSTEM_FLAGS), option) {
        return Some(if is_set {
            MountOption::Set(flag)
        } else {
            MountOption::Clear(flag)
        });
    }
    let (flag, is_set) = find(FLAGS.iter(), option.strip_prefix('r')?)?;
    Some(if is_set {
        MountOption::SetRecursive(flag)
    } else {
        MountOption::ClearRecursive(flag)
    })
}

/// Returns true if an option is data of a filesystem, such as `size=64k`.
pub(crate) fn is_data(filesystem: Filesystem, option: &str) -> bool {
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    let known: &[&str] = match filesystem {
        Filesystem::Tmpfs => &[
            "gid",
            "huge",
            "inode32",
            "inode64",
            "mode",
            "mpol",
            "nr_blocks",
            "nr_inodes",
            "noswap",
            "size",
            "uid",
        ],
        Filesystem::Devpts => &["gid", "max", "mode", "newinstance", "ptmxmode", "uid"],
        Filesystem::Proc => &["gid", "hidepid", "subset"],
        Filesystem::Unspecified | Filesystem::Sysfs | Filesystem::Mqueue | Filesystem::Cgroup2 => {
            &[]
        }
    };
    // A comma would be the beginning of another option.
    known.contains(&name) && !option.contains(',')
}

fn find<'a>(
    mut flags: impl Iterator<Item = &'a (&'static str, &'static str, u32)>,
    option: &str,
) -> Option<(u32, bool)> {
    flags.find_map(|(set, clear, flag)| {
        let is_set = *set == option;
        (is_set || (!clear.is_empty() && *clear == option)).then_some((*flag, is_set))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_the_meaning_of_runc() {
        let options = [
            ("ro", MountOption::Set(flags::READ_ONLY)),
            ("rw", MountOption::Clear(flags::READ_ONLY)),
            ("rro", MountOption::SetRecursive(flags::READ_ONLY)),
            ("rrw", MountOption::ClearRecursive(flags::READ_ONLY)),
            ("relatime", MountOption::Set(flags::REL_ATIME)),
            ("rrelatime", MountOption::SetRecursive(flags::REL_ATIME)),
            ("rnorelatime", MountOption::ClearRecursive(flags::REL_ATIME)),
            ("async", MountOption::Clear(flags::SYNCHRONOUS)),
            ("rbind", MountOption::RecursiveBind),
            (
                "rslave",
                MountOption::Propagation(Propagation::RecursiveSlave),
            ),
            ("rshared", MountOption::Shared),
            ("defaults", MountOption::Nothing),
        ];
        for (option, expected) in options {
            assert_eq!(parse(option), Some(expected), "{option}");
        }
        for option in ["", "r", "rsync", "rdirsync", "mode=755", "remount", "idmap"] {
            assert_eq!(parse(option), None, "{option}");
        }
    }

    #[test]
    fn data_belongs_to_its_filesystem() {
        assert!(is_data(Filesystem::Tmpfs, "size=65536k"));
        assert!(is_data(Filesystem::Devpts, "newinstance"));
        assert!(!is_data(Filesystem::Sysfs, "size=65536k"));
        assert!(!is_data(Filesystem::Tmpfs, "size=1,mode=777"));
        assert!(!is_data(Filesystem::Tmpfs, "sizes=1"));
    }
}
