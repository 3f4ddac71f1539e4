use super::{check_absolute, check_value, is_id, is_path, refused};
use crate::limits::MOUNT_DATA_MAX_BYTES;
use crate::{
    Device, DeviceKind, Filesystem, MOUNT_FLAGS, Mount, MountSource, PlanError, PodMemory,
    Propagation,
};

/// The permission bits of a file, with set-user-ID, set-group-ID and sticky.
const MODE_MAX: u32 = 0o7777;
/// The largest major number of a device: 12 bits.
const MAJOR_MAX: u32 = (1 << 12) - 1;
/// The largest minor number of a device: 20 bits.
const MINOR_MAX: u32 = (1 << 20) - 1;
/// The accepted names of a share's entry, a disk and a pod's tmpfs.
const NAME: &str = "1 to 128 of the characters a-z A-Z 0-9 - _ .";

impl Mount {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        let field = "mounts.destination";
        check_absolute(field, &self.destination)?;
        check_value(field, &self.destination, "a path below the root", |path| {
            path.bytes().any(|byte| byte != b'/')
        })?;
        match &self.source {
            None => return Err(refused("mounts.source", "empty", "a source")),
            Some(source) => source.check()?,
        }
        let flags = [
            ("mounts.flags", self.flags),
            ("mounts.recursive_flags", self.recursive_flags),
        ];
        for (field, flags) in flags {
            if flags & !MOUNT_FLAGS != 0 {
                let flags = format_args!("{flags:#x}");
                return Err(refused(field, flags, "known flags of mount(2)"));
            }
        }
        if Propagation::try_from(self.propagation).is_err() {
            let accepted = "a propagation without sharing";
            return Err(refused("mounts.propagation", self.propagation, accepted));
        }
        self.check_kind()
    }

    /// Checks the fields that only some sources have.
    fn check_kind(&self) -> Result<(), PlanError> {
        let filesystem = self.filesystem();
        let accepted = "at most 4,095 bytes without NUL, and empty for a bind";
        check_value("mounts.data", &self.data, accepted, |data| {
            data.len() <= MOUNT_DATA_MAX_BYTES
                && !data.contains('\0')
                && (data.is_empty() || filesystem.is_some())
        })?;
        if self.is_recursive && filesystem.is_some() {
            return Err(refused("mounts.is_recursive", "true", "true for a bind"));
        }
        if self.copies_up && filesystem != Some(Filesystem::Tmpfs) {
            return Err(refused("mounts.copies_up", "true", "true for a tmpfs"));
        }
        Ok(())
    }
}

impl MountSource {
    fn check(&self) -> Result<(), PlanError> {
        match self {
            Self::Filesystem(kind) => match Filesystem::try_from(*kind) {
                Ok(Filesystem::Unspecified) | Err(_) => {
                    Err(refused("mounts.source", kind, "a known filesystem"))
                }
                Ok(_) => Ok(()),
            },
            Self::Share(name) => check_value("mounts.source.share", name, NAME, is_id),
            Self::Disk(name) => check_value("mounts.source.disk", name, NAME, is_id),
            Self::PodMemory(memory) => memory.check(),
        }
    }
}

impl PodMemory {
    fn check(&self) -> Result<(), PlanError> {
        check_value("mounts.source.pod_memory", &self.name, NAME, is_id)?;
        check_mode("mounts.source.pod_memory.mode", self.mode)?;
        let accepted = "a relative path of at most 4,095 bytes without \"..\" and NUL";
        check_value(
            "mounts.source.pod_memory.path",
            &self.path,
            accepted,
            |path| !path.starts_with('/') && is_path(path),
        )
    }
}

impl Device {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        check_absolute("devices.path", &self.path)?;
        match DeviceKind::try_from(self.kind) {
            Ok(DeviceKind::Character | DeviceKind::Block) => {}
            Ok(DeviceKind::Any) | Err(_) => {
                return Err(refused("devices.kind", self.kind, "character or block"));
            }
        }
        if self.major > MAJOR_MAX || self.minor > MINOR_MAX {
            let number = format_args!("{}:{}", self.major, self.minor);
            let accepted = "at most 4,095 and 1,048,575";
            return Err(refused("devices.major", number, accepted));
        }
        check_mode("devices.mode", self.mode)
    }
}

fn check_mode(field: &'static str, mode: u32) -> Result<(), PlanError> {
    if mode <= MODE_MAX {
        Ok(())
    } else {
        Err(refused(field, format_args!("{mode:#o}"), "0 to 0o7777"))
    }
}
