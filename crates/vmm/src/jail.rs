use fs_err as fs;
use msb_jail::{Access, Calls, Jail, JailError};

use crate::{Disk, DiskAccess, DiskFormat, Machine, RunError};

impl Machine {
    /// Returns a jail that allows the machine's own files and no others.
    ///
    /// The kernel and the read-only disks can be read; the writable disks and the console's log can be
    /// written. A disk that a server has cannot be opened.
    pub fn jail(&self, calls: Calls) -> Jail {
        let jail = Jail::new(calls)
            .with(&self.kernel, Access::Read)
            .with(&self.console_log, Access::Write);
        let disks = self.disks.iter();
        let opened = disks.filter(|disk| disk.format != DiskFormat::Served);
        opened.fold(jail, |jail, disk| {
            jail.with(&disk.path, disk.access.to_file())
        })
    }

    /// Returns the length of the longest disk that the VMM writes, in bytes. 0 without one.
    pub fn longest_writable_bytes(&self) -> u64 {
        let writable = self.disks.iter().filter(|disk| {
            disk.access == DiskAccess::ReadWrite && disk.format != DiskFormat::Served
        });
        let length = |disk: &Disk| fs::metadata(&disk.path).map_or(0, |file| file.len());
        writable.map(length).max().unwrap_or(0)
    }
}

impl DiskAccess {
    /// The calls that whoever serves a share with this access needs.
    pub const fn calls_to_serve(self) -> Calls {
        match self {
            Self::ReadOnly => Calls::Vmm,
            Self::ReadWrite => Calls::Share,
        }
    }

    /// Returns the access to a shared directory that the jail of its server has.
    pub const fn to_directory(self) -> Access {
        match self {
            Self::ReadOnly => Access::Read,
            Self::ReadWrite => Access::Share,
        }
    }

    /// Returns the access to a shared file, or to a disk, that the jail of its server has.
    pub const fn to_file(self) -> Access {
        match self {
            Self::ReadOnly => Access::Read,
            Self::ReadWrite => Access::Write,
        }
    }
}

impl From<JailError> for RunError {
    fn from(source: JailError) -> Self {
        Self::Jail { source }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::machine::tests::machine;

    #[test]
    fn a_jail_has_the_files_of_a_machine_and_none_of_a_served_disk() {
        let mut machine = machine();
        machine.disks[0].format = DiskFormat::Served;
        machine.disks[2].access = DiskAccess::ReadOnly;
        let jail = machine.jail(Calls::Vmm);
        let files: Vec<_> = jail.files().collect();
        assert_eq!(
            files,
            [
                (Path::new("/kernel"), Access::Read),
                (Path::new("/console.log"), Access::Write),
                (Path::new("/disks/upper"), Access::Write),
                (Path::new("/disks/boot"), Access::Read),
            ]
        );
    }
}
