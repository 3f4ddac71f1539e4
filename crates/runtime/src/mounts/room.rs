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
mod tests;
