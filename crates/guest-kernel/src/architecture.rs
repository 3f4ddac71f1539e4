use std::fmt;

use object::elf::{EM_AARCH64, EM_X86_64, Machine};

use crate::KernelError;

/// An architecture that msb boots guests of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64.
    X86_64,
    /// arm64, which Linux calls AArch64 as well.
    Aarch64,
}

impl Architecture {
    /// The architecture of this host, and so of its guests.
    pub const HOST: Self = if cfg!(target_arch = "aarch64") {
        Self::Aarch64
    } else {
        Self::X86_64
    };

    /// Returns the name that `uname -m` prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Returns the name of the file that the kernel's build makes for VMMs.
    pub const fn kernel_file(self) -> &'static str {
        match self {
            Self::X86_64 => "vmlinux",
            Self::Aarch64 => "Image",
        }
    }

    /// Returns the name under which a kernel is installed that has more filesystems: XFS and Btrfs.
    pub const fn filesystems_kernel_file(self) -> &'static str {
        match self {
            Self::X86_64 => "vmlinux-filesystems",
            Self::Aarch64 => "Image-filesystems",
        }
    }

    /// Checks that a kernel of the architecture `found` can be booted.
    pub(crate) fn check(self, found: Self) -> Result<(), KernelError> {
        if found == self {
            return Ok(());
        }
        Err(KernelError::OtherArchitecture {
            found: found.name().to_owned(),
            wanted: self,
        })
    }

    /// Checks that an ELF file for `machine` is for this architecture.
    pub(crate) fn check_machine(self, machine: Machine) -> Result<(), KernelError> {
        match machine {
            EM_X86_64 => self.check(Self::X86_64),
            EM_AARCH64 => self.check(Self::Aarch64),
            Machine(number) => Err(KernelError::OtherArchitecture {
                found: format!("the machine of number {number}"),
                wanted: self,
            }),
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
