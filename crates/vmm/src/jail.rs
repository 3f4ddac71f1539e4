use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use msb_jail::{Access, Calls, Jail, JailError};
use vmdk::Descriptor;

use crate::{Disk, DiskAccess, DiskFormat, Machine, RunError};

impl Machine {
    /// Returns a jail that allows the machine's own files and no others.
    ///
    /// The kernel, the read-only disks and every extent of a VMDK can be read; the writable disks
    /// and the console's log can be written. A disk that a server has cannot be opened.
    ///
    /// # Errors
    /// If a VMDK cannot be read.
    pub fn jail(&self, calls: Calls) -> Result<Jail, RunError> {
        let mut jail = Jail::new(calls)
            .with(&self.kernel, Access::Read)
            .with(&self.console_log, Access::Write);
        let opened = self.disks.iter();
        let opened = opened.filter(|disk| disk.format != DiskFormat::Served);
        for disk in opened {
            jail = jail.with(&disk.path, disk.access.to_file());
            for extent in disk.extents()? {
                jail = jail.with(extent, Access::Read);
            }
        }
        Ok(jail)
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

impl Disk {
    /// Returns the extents of a VMDK. Empty for a raw disk.
    ///
    /// # Errors
    /// If the VMDK cannot be read.
    pub fn extents(&self) -> Result<Vec<PathBuf>, RunError> {
        if self.format != DiskFormat::Vmdk {
            return Ok(Vec::new());
        }
        let failed = |source| RunError::Io {
            action: format!("read the disk {}", self.path.display()),
            source,
        };
        let descriptor = fs::File::open(&self.path)
            .and_then(|file| Descriptor::read(file).map_err(invalid))
            .map_err(failed)?;
        let directory = self.path.parent().unwrap_or(Path::new(""));
        let extents = descriptor.extents.iter();
        Ok(extents
            .map(|extent| directory.join(&extent.file_name))
            .collect())
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl From<JailError> for RunError {
    fn from(source: JailError) -> Self {
        Self::Jail { source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::machine;

    #[test]
    fn a_jail_has_every_file_of_a_vmdk() {
        let directory = tempfile::tempdir().unwrap();
        let extent = |file_name: &str| vmdk::FlatExtent {
            sectors: 8,
            file_name: file_name.to_owned(),
        };
        let descriptor = Descriptor::new(1, vec![extent("a.erofs"), extent("b.erofs")]).unwrap();
        let path = directory.path().join("image.vmdk");
        fs::write(&path, descriptor.render()).unwrap();
        let mut machine = machine();
        machine.disks[0].path = path.clone();
        machine.disks[0].format = DiskFormat::Vmdk;
        machine.disks[0].access = DiskAccess::ReadOnly;
        let jail = machine.jail(Calls::Vmm).unwrap();
        let files: Vec<_> = jail.files().collect();
        let a = directory.path().join("a.erofs");
        let b = directory.path().join("b.erofs");
        assert_eq!(
            files,
            [
                (Path::new("/kernel"), Access::Read),
                (Path::new("/console.log"), Access::Write),
                (&path, Access::Read),
                (&a, Access::Read),
                (&b, Access::Read),
                (Path::new("/disks/upper"), Access::Write),
                (Path::new("/disks/boot"), Access::Write),
            ]
        );
    }

    #[test]
    fn a_served_disk_is_no_file_of_the_vmm() {
        let mut machine = machine();
        machine.disks[1].format = DiskFormat::Served;
        let jail = machine.jail(Calls::Vmm).unwrap();
        assert!(
            jail.files()
                .all(|(path, _)| path != Path::new("/disks/upper"))
        );
    }

    #[test]
    fn a_vmdk_that_is_none_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image.vmdk");
        fs::write(&path, "RW 1 FLAT \"/etc/shadow\" 0\n").unwrap();
        let mut machine = machine();
        machine.disks[0].path = path;
        machine.disks[0].format = DiskFormat::Vmdk;
        let error = machine.jail(Calls::Vmm).unwrap_err().to_string();
        assert!(error.starts_with("cannot read the disk "), "{error}");
    }
}
