use msb_vmm::{Backend, DiskAccess};

use super::{Mount, MountError, Source, staged};

/// Number of disks that every machine has: the image, the upper disk and the boot disk.
const OWN_DISKS: usize = 3;

/// The number of mounts that a VMM has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    vmm: &'static str,
    has_network: bool,
    /// Maximum number of volumes and shares.
    devices: usize,
    /// Maximum number of volumes and shares without a network.
    devices_alone: usize,
    /// True if a share can have several entries, and files among them.
    has_entries: bool,
}

/// The way in which a mount reaches the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartOptions {
    /// The mount is a device of its own.
    Device,
    /// The mount is an entry of the share that has all others with this access.
    Entry(DiskAccess),
    /// The mount is the directory with this number on the disk of all staged directories.
    Staged(usize),
    /// The mount is memory of the guest and needs no device.
    Guest,
}

impl Room {
    /// Returns the room of a VMM, for machines with a network or without.
    pub fn for_vmm(vmm: &dyn Backend, has_network: bool) -> Self {
        let devices = |has_network| vmm.device_limit(has_network).saturating_sub(OWN_DISKS);
        Self {
            vmm: vmm.name(),
            has_network,
            devices: devices(has_network),
            devices_alone: devices(false),
            has_entries: !vmm.serves_shares(),
        }
    }

    /// Returns the place of each mount, in the order of the mounts.
    ///
    /// # Errors
    /// More mounts than there is room for, or a file or rules with a VMM that serves shared directories by itself.
    pub(super) fn places(&self, mounts: &[Mount]) -> Result<Vec<StartOptions>, MountError> {
        if self.has_entries {
            self.shared_places(mounts)
        } else {
            self.separate_places(mounts)
        }
    }

    /// Makes each mount a device of its own.
    fn separate_places(&self, mounts: &[Mount]) -> Result<Vec<StartOptions>, MountError> {
        let mut places = Vec::new();
        let mut numbers = 0..;
        for mount in mounts {
            places.push(match &mount.source {
                Source::Tmpfs { .. } => StartOptions::Guest,
                Source::Staged(_) => StartOptions::Staged(numbers.next().unwrap_or_default()),
                Source::BindFile { file } => {
                    return Err(MountError::NoFiles {
                        path: file.clone(),
                        vmm: self.vmm,
                    });
                }
                Source::Bind { directory, rules } if !rules.is_empty() => {
                    return Err(MountError::NoRules {
                        path: directory.clone(),
                        vmm: self.vmm,
                    });
                }
                Source::Bind { .. } | Source::Volume { .. } | Source::Anonymous { .. } => {
                    StartOptions::Device
                }
            });
        }
        match devices(&places) {
            devices if devices > self.devices => Err(self.no_place(devices)),
            _ => Ok(places),
        }
    }

    /// Makes host directories and files entries of one share for each access.
    /// Volumes are devices as long as there is room, the first ones first; the others are entries
    /// too.
    fn shared_places(&self, mounts: &[Mount]) -> Result<Vec<StartOptions>, MountError> {
        let volumes = mounts.iter().filter(|mount| mount.is_volume()).count();
        let fits = |places: &Vec<StartOptions>| devices(places) <= self.devices;
        let layouts = (0..=volumes).rev().map(|own| with_own(mounts, own));
        let all = mounts.iter().filter(|mount| !mount.is_memory()).count();
        // The disk of the staged directories is counted once.
        let staged = staged(mounts).count();
        let all = all - staged + staged.min(1);
        layouts
            .into_iter()
            .find(fits)
            .ok_or_else(|| self.no_place(all))
    }

    fn no_place(&self, mounts: usize) -> MountError {
        let network = if self.has_network {
            " and a network"
        } else {
            ""
        };
        let more = if self.devices_alone > self.devices {
            format!(" ({} with --network none)", self.devices_alone)
        } else {
            String::new()
        };
        MountError::NoPlace {
            mounts,
            limit: self.devices,
            vmm: self.vmm,
            network,
            more,
        }
    }
}

/// Returns the places of mounts if the first `own` volumes are devices of their own.
fn with_own(mounts: &[Mount], own: usize) -> Vec<StartOptions> {
    let mut left = own;
    let mut numbers = 0..;
    let place = |mount: &Mount| match mount {
        mount if mount.is_memory() => StartOptions::Guest,
        Mount {
            source: Source::Staged(_),
            ..
        } => StartOptions::Staged(numbers.next().unwrap_or_default()),
        mount if mount.is_volume() && left > 0 => {
            left -= 1;
            StartOptions::Device
        }
        mount => StartOptions::Entry(mount.access()),
    };
    mounts.iter().map(place).collect()
}

/// Returns the number of devices that the places need.
fn devices(places: &[StartOptions]) -> usize {
    let own = places
        .iter()
        .filter(|place| **place == StartOptions::Device);
    let shares = [DiskAccess::ReadOnly, DiskAccess::ReadWrite];
    let shares = shares
        .iter()
        .filter(|access| places.contains(&StartOptions::Entry(**access)));
    let has_staged = places
        .iter()
        .any(|place| matches!(place, StartOptions::Staged(_)));
    own.count() + shares.count() + usize::from(has_staged)
}

impl Mount {
    const fn is_memory(&self) -> bool {
        matches!(self.source, Source::Tmpfs { .. })
    }

    const fn is_volume(&self) -> bool {
        matches!(
            self.source,
            Source::Volume { .. } | Source::Anonymous { .. }
        )
    }
}

#[cfg(test)]
impl Room {
    /// Returns the room of QEMU's board.
    pub(super) const fn for_qemu(has_network: bool) -> Self {
        Self {
            vmm: "qemu",
            has_network,
            devices: if has_network { 2 } else { 3 },
            devices_alone: 3,
            has_entries: true,
        }
    }

    /// Returns the room of libkrun's board.
    pub(super) const fn for_krun(has_network: bool) -> Self {
        Self {
            vmm: "krun",
            has_network,
            devices: if has_network { 3 } else { 4 },
            devices_alone: 4,
            has_entries: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounts::Staged;

    const RO: StartOptions = StartOptions::Entry(DiskAccess::ReadOnly);
    const RW: StartOptions = StartOptions::Entry(DiskAccess::ReadWrite);

    fn mount(index: usize, read_only: bool, source: Source) -> Mount {
        Mount {
            target: format!("/{index}").parse().expect("a target"),
            read_only,
            source,
        }
    }

    /// Returns one mount for each letter: `d` directory, `f` file, `v` volume, `s` staged, `t` memory.
    /// Upper-case letters are writable, lower-case letters read-only.
    fn mounts(letters: &str) -> Vec<Mount> {
        let source = |letter: char| match letter.to_ascii_lowercase() {
            'd' => Source::Bind {
                directory: "/d".into(),
                rules: Vec::new(),
            },
            'f' => Source::BindFile { file: "/f".into() },
            'v' => Source::Anonymous { size_bytes: 0 },
            's' => Source::Staged(Staged {
                directory: Some("/s".into()),
                rules: Vec::new(),
                default_rules: true,
            }),
            _ => Source::Tmpfs {
                size_bytes: None,
                mode: None,
                exec: false,
            },
        };
        let letters = letters.chars().enumerate();
        let mounts = letters
            .map(|(index, letter)| mount(index, letter.is_ascii_lowercase(), source(letter)));
        mounts.collect()
    }

    #[test]
    fn with_entries_volumes_are_devices_as_long_as_there_is_room() {
        let room = Room::for_qemu(true);
        for (letters, expected) in [
            ("", vec![]),
            ("t", vec![StartOptions::Guest]),
            ("D", vec![RW]),
            ("VV", vec![StartOptions::Device, StartOptions::Device]),
            (
                "DVtV",
                vec![RW, StartOptions::Device, StartOptions::Guest, RW],
            ),
            ("dVV", vec![RO, RW, RW]),
            ("dDv", vec![RO, RW, RO]),
            ("fF", vec![RO, RW]),
            ("VVV", vec![StartOptions::Device, RW, RW]),
            // The volumes that find no room need a share for each access.
            ("VVv", vec![RW, RW, RO]),
        ] {
            let places = room.places(&mounts(letters));
            assert_eq!(places.expect("room"), expected, "{letters}");
        }
    }

    #[test]
    fn with_entries_there_is_room_for_all() {
        for letters in ["DDDDDDdddddd", "VVVVVVvvvvvv", "dDfFvVdDfFvVdDfFvV"] {
            for has_network in [false, true] {
                let room = Room::for_qemu(has_network);
                let places = room.places(&mounts(letters)).expect("room");
                assert!(devices(&places) <= room.devices, "{letters}: {places:?}");
            }
        }
    }

    #[test]
    fn staged_directories_are_one_disk() {
        let (one, two) = (StartOptions::Staged(0), StartOptions::Staged(1));
        let (device, guest) = (StartOptions::Device, StartOptions::Guest);
        let (qemu, krun) = (Room::for_qemu, Room::for_krun);
        for (room, letters, expected) in [
            (qemu(true), "sS", vec![one, two]),
            (qemu(true), "SVS", vec![one, device, two]),
            (qemu(true), "SDS", vec![one, RW, two]),
            // The volumes share the only other device.
            (qemu(true), "SVV", vec![one, RW, RW]),
            (qemu(false), "SVV", vec![one, device, device]),
            (qemu(false), "SDdVS", vec![one, RW, RO, RW, two]),
            (qemu(false), "DsVtSv", vec![RW, one, RW, guest, two, RO]),
            (krun(true), "SDsV", vec![one, device, two, device]),
            (krun(false), "SDsVv", vec![one, device, two, device, device]),
        ] {
            let places = room.places(&mounts(letters)).expect("room");
            assert_eq!(places, expected, "{letters}");
            assert!(devices(&places) <= room.devices, "{letters}");
        }
        // However many there are, they count as one of the mounts that are too many.
        for (room, letters, refusal) in [
            (
                qemu(true),
                "SSSDd",
                "3 volumes and host directories are too many: with qemu and a network the limit is 2 (3",
            ),
            (
                krun(true),
                "SDSVv",
                "4 volumes and host directories are too many: with krun and a network the limit is 3 (4",
            ),
            (
                krun(false),
                "SDDVv",
                "5 volumes and host directories are too many: with krun the limit is 4;",
            ),
        ] {
            let refused = room.places(&mounts(letters)).expect_err("no room");
            let refused = refused.to_string();
            assert!(refused.starts_with(refusal), "{letters}: {refused}");
        }
    }

    #[test]
    fn without_entries_each_is_a_device() {
        let room = Room::for_krun(true);
        let places = room.places(&mounts("DtvV")).expect("room");
        let expected = [
            StartOptions::Device,
            StartOptions::Guest,
            StartOptions::Device,
            StartOptions::Device,
        ];
        assert_eq!(places, expected);
        let refused = room.places(&mounts("DDvV")).expect_err("no room");
        let expected = "4 volumes and host directories are too many: with krun and a network the \
            limit is 3 (4 with --network none); --tmpfs mounts do not count, and the limit of QEMU \
            is higher (--vmm qemu, MSB_VMM=qemu)";
        assert_eq!(refused.to_string(), expected);
        let refused = Room::for_krun(false).places(&mounts("DDDDD"));
        let refused = refused.expect_err("no room").to_string();
        assert!(refused.contains("with krun the limit is 4;"), "{refused}");
        let refused = room.places(&mounts("F")).expect_err("a file");
        assert!(matches!(refused, MountError::NoFiles { .. }));
    }
}
