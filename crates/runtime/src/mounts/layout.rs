use std::path::PathBuf;

use fs_err as fs;
use msb_vmm::{Disk, DiskAccess, DiskFormat, Share, ShareEntry, ShareKind, Shown};

use super::room::StartOptions;
use super::word::{STAGED_SERIAL, entry_name, serial, tag, tag_of_entries, word};
use super::{Mount, MountError, Room, Source, staged};
use crate::Home;
use crate::sandbox::SandboxPaths;

/// The disks and shares that a machine has for its mounts.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// Disks in addition to the sandbox's own.
    pub(crate) disks: Vec<Disk>,
    pub(crate) shares: Vec<Share>,
    /// The kernel argument that describes the mounts; `None` without mounts.
    pub(crate) word: Option<String>,
}

impl Layout {
    /// Assigns each mount a disk or a share in the VMM's room. `staged_image` is the path of the image of the staged
    /// directories.
    ///
    /// # Errors
    /// Mounts for which there is no room, or whose description is too long.
    pub(crate) fn assign(
        (home, files): (&Home, &SandboxPaths),
        mounts: &[Mount],
        room: &Room,
        staged_image: PathBuf,
    ) -> Result<Self, MountError> {
        let places = room.places(mounts)?;
        let mut layout = Self {
            word: word(mounts, &places)?,
            ..Self::default()
        };
        for (index, (mount, place)) in mounts.iter().zip(places).enumerate() {
            let disk = disk_path(home, files, index, mount);
            match (place, disk) {
                (StartOptions::Device, Some(path)) => layout.disks.push(Disk {
                    path,
                    format: DiskFormat::Raw,
                    access: mount.access(),
                    serial: serial(index),
                }),
                (StartOptions::Device, None) => layout.shares.extend(directory(index, mount)),
                (StartOptions::Entry(access), disk) => {
                    layout.add_entry(access, entry(index, mount, disk))
                }
                (StartOptions::Staged(_) | StartOptions::Guest, _) => {}
            }
        }
        if staged(mounts).next().is_some() {
            layout.disks.push(Disk {
                path: staged_image,
                format: DiskFormat::Raw,
                access: DiskAccess::ReadOnly,
                serial: STAGED_SERIAL.to_owned(),
            });
        }
        Ok(layout)
    }

    /// Adds an entry to the share for this access, and creates the share if it is missing.
    fn add_entry(&mut self, access: DiskAccess, entry: Option<ShareEntry>) {
        let of_this_access = |share: &&mut Share| share.access == access;
        match self.shares.iter_mut().find(of_this_access) {
            Some(Share {
                shown: Shown::Entries(entries),
                ..
            }) => entries.extend(entry),
            _ => self.shares.push(Share {
                tag: tag_of_entries(access).to_owned(),
                access,
                shown: Shown::Entries(entry.into_iter().collect()),
            }),
        }
    }
}

/// Returns a share of one directory; `None` if the mount is not a directory of the host.
fn directory(index: usize, mount: &Mount) -> Option<Share> {
    let Source::Bind { directory, .. } = &mount.source else {
        return None;
    };
    Some(Share {
        tag: tag(index),
        access: mount.access(),
        shown: Shown::Directory(directory.clone()),
    })
}

/// Returns the mount as an entry of a share. `disk` is the path of a volume's disk.
/// `None` if the mount has neither a path on the host nor a disk.
fn entry(index: usize, mount: &Mount, disk: Option<PathBuf>) -> Option<ShareEntry> {
    let (path, kind) = match (&mount.source, disk) {
        (Source::Bind { directory, .. }, _) => (directory.clone(), ShareKind::Directory),
        (Source::BindFile { file }, _) => (file.clone(), ShareKind::File),
        // The process that serves the entry follows no symlink, not even one that leads to
        // MSB_HOME.
        (_, Some(disk)) => (fs::canonicalize(&disk).unwrap_or(disk), ShareKind::Disk),
        (_, None) => return None,
    };
    Some(ShareEntry {
        name: entry_name(index),
        path,
        kind,
        target: mount.target.to_string(),
        rules: match &mount.source {
            Source::Bind { rules, .. } => rules.clone(),
            _ => Vec::new(),
        },
    })
}

/// Returns the path of a volume's disk; `None` if the mount at `index` is not a volume.
fn disk_path(home: &Home, files: &SandboxPaths, index: usize, mount: &Mount) -> Option<PathBuf> {
    match &mount.source {
        Source::Volume { volume } => Some(home.volume(volume).disk()),
        Source::Anonymous { .. } => Some(files.volume(index)),
        Source::Bind { .. }
        | Source::BindFile { .. }
        | Source::Staged(_)
        | Source::Tmpfs { .. } => None,
    }
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

    fn mounts() -> Vec<Mount> {
        let directory = |name: &str| Source::Bind {
            directory: name.into(),
            rules: Vec::new(),
        };
        vec![
            mount("/src", true, directory("/host/src")),
            mount("/out", false, directory("/host/out")),
            mount("/cache", false, Source::Anonymous { size_bytes: 0 }),
        ]
    }

    fn layout(mounts: &[Mount], room: Room) -> Layout {
        let files = SandboxPaths {
            directory: "/sandbox".into(),
        };
        let home = Home::new("/home");
        let staged = files.staged();
        Layout::assign((&home, &files), mounts, &room, staged).expect("room")
    }

    #[test]
    fn each_has_a_device_where_there_is_no_other_way() {
        let layout = layout(&mounts(), Room::for_krun(true));
        let serials: Vec<_> = layout.disks.iter().map(|disk| &disk.serial).collect();
        assert_eq!(serials, ["msb-volume-2"]);
        let shown: Vec<_> = layout.shares.iter().map(|share| &share.shown).collect();
        let expected = ["/host/src", "/host/out"].map(|path| Shown::Directory(path.into()));
        assert_eq!(shown, expected.iter().collect::<Vec<_>>());
        let word = layout.word.expect("mounts");
        let expected = "msb_mounts=share:msb-share-0:ro:/src;share:msb-share-1:rw:/out;\
            disk:msb-volume-2:rw:/cache";
        assert_eq!(word, expected);
    }

    #[test]
    fn what_finds_no_place_is_an_entry_of_a_share_with_its_access() {
        let layout = layout(&mounts(), Room::for_qemu(true));
        assert!(layout.disks.is_empty());
        let [read, write] = &layout.shares[..] else {
            panic!("two shares: {layout:?}")
        };
        assert_eq!(
            (read.tag.as_str(), write.tag.as_str()),
            ("msb-ro", "msb-rw")
        );
        let Shown::Entries(entries) = &write.shown else {
            panic!("entries: {write:?}")
        };
        let entries: Vec<_> = entries
            .iter()
            .map(|entry| (entry.name.as_str(), entry.kind))
            .collect();
        assert_eq!(
            entries,
            [("1", ShareKind::Directory), ("2", ShareKind::Disk)]
        );
        let word = layout.word.expect("mounts");
        let expected =
            "msb_mounts=share:msb-ro/0:ro:/src;share:msb-rw/1:rw:/out;disk:msb-rw/2:rw:/cache";
        assert_eq!(word, expected);
    }
}
