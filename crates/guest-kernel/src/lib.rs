//! The guest kernel: the search for it, and its conversion to one file that every VMM boots.
//!
//! libkrunfw ships a Linux kernel as data inside a shared library: on x86-64 the raw memory image
//! of `vmlinux`, on arm64 an `Image`. The library is read as bytes and never loaded, so a kernel of
//! another architecture or from an untrusted source can be inspected safely.
//!
//! On x86-64 the raw image is wrapped as one ELF file with two entry points:
//!
//! ```text
//! ELF header   e_entry ─────────────────────────────┐ 64-bit entry: libkrun
//! PT_LOAD      the whole image, at its load address │
//! PT_NOTE      ──┐ the PVH note inside the image    │ 32-bit entry: QEMU
//! ───────────────┼──────────────────────────────────┼──
//! image          ▼ "Xen" 18 <entry>                 ▼
//! ```

#![warn(clippy::as_conversions)]

mod architecture;
mod banner;
mod candidates;
mod drivers;
mod elf;
mod error;
mod firmware;
mod linux_image;
mod pvh;
mod vmlinux;

pub use architecture::Architecture;
pub use candidates::{RootFilesystems, candidates};
pub use error::{CorruptKernel, KernelError};

/// A kernel that every VMM of its architecture boots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestKernel {
    /// The bytes to pass to the VMM as a file.
    pub image: Vec<u8>,
    /// The format of `image`.
    pub format: KernelFormat,
    /// The kernel's `uname -r`. `None` if the image has no banner.
    pub release: Option<String>,
}

/// The format of a [`GuestKernel`]'s bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelFormat {
    /// x86-64: an ELF file with a 64-bit entry point, and a PVH note that names the 32-bit one.
    Elf,
    /// arm64: a flat `Image` (Documentation/arch/arm64/booting.rst).
    Image,
}

/// Makes a bootable kernel from a libkrunfw library, an x86-64 `vmlinux` or an arm64 `Image`.
///
/// A `vmlinux` must have a PVH note. It and an `Image` are returned unchanged.
///
/// # Errors
/// If the bytes are none of these or are inconsistent, if the kernel is not for `architecture`, or
/// if it lacks a driver that every sandbox needs.
pub fn wrap(
    library_or_kernel: &[u8],
    architecture: Architecture,
) -> Result<GuestKernel, KernelError> {
    let (image, format) = if linux_image::is_arm64_image(library_or_kernel) {
        architecture.check(Architecture::Aarch64)?;
        linux_image::check(library_or_kernel)?;
        (library_or_kernel.to_vec(), KernelFormat::Image)
    } else if elf::is_shared_library(library_or_kernel, architecture)? {
        wrap_firmware(library_or_kernel)?
    } else {
        vmlinux::check(library_or_kernel)?;
        (library_or_kernel.to_vec(), KernelFormat::Elf)
    };
    let missing = drivers::missing(&image);
    if !missing.is_empty() {
        return Err(KernelError::MissingOptions { missing });
    }
    let release = banner::release(&image);
    Ok(GuestKernel {
        image,
        format,
        release,
    })
}

fn wrap_firmware(library: &[u8]) -> Result<(Vec<u8>, KernelFormat), KernelError> {
    let firmware = firmware::Firmware::read(library)?;
    if linux_image::is_arm64_image(firmware.bundle) {
        linux_image::check(firmware.bundle)?;
        return Ok((firmware.bundle.to_vec(), KernelFormat::Image));
    }
    Ok((elf::wrap(&firmware.raw_kernel()?)?, KernelFormat::Elf))
}
