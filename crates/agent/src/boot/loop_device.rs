#![expect(unsafe_code, reason = "the requests of loop devices have no safe form")]
//! Loop devices: block devices that show a file's content.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, Setter, ioctl};

/// Allocates devices (Documentation/ABI/testing/sysfs-block-loop).
const CONTROL: &str = "/dev/loop-control";
/// `LOOP_CTL_GET_FREE` and `LOOP_CONFIGURE` (uapi/linux/loop.h).
const GET_FREE: Opcode = 0x4C82;
const CONFIGURE: Opcode = 0x4C0A;
/// `LO_FLAGS_READ_ONLY`, `LO_FLAGS_AUTOCLEAR` and `LO_FLAGS_DIRECT_IO`.
const READ_ONLY: u32 = 1;
const AUTOCLEAR: u32 = 4;
const DIRECT_IO: u32 = 16;

/// The time that the kernel may take to make a device's node.
const APPEAR_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// `struct loop_config`, with `struct loop_info64` in it (uapi/linux/loop.h).
#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    numbers: [u64; 5],
    more_numbers: [u32; 3],
    flags: u32,
    names: [u8; 160],
    init: [u64; 2],
    reserved: [u64; 8],
}

/// A device that shows a file until its last user closes it.
#[derive(Debug)]
pub(super) struct Loop {
    /// Path of the device node.
    pub(super) path: String,
    /// Keeps the device attached until it is mounted.
    _device: OwnedFd,
}

/// Attaches a file to a device. With direct I/O the file's content is cached once, for the device.
pub(super) fn attach(file: &OwnedFd, is_read_only: bool) -> io::Result<Loop> {
    let control = open(CONTROL, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    // SAFETY: the request takes no argument.
    let number = unsafe { ioctl(&control, GetFree) }?;
    let path = format!("/dev/loop{number}");
    let device = open_soon(&path)?;
    let flags = AUTOCLEAR | DIRECT_IO | if is_read_only { READ_ONLY } else { 0 };
    let config = Config {
        fd: file.as_raw_fd().unsigned_abs(),
        // Zero selects the kernel's default.
        block_size: 0,
        numbers: [0; 5],
        more_numbers: [0; 3],
        flags,
        names: [0; 160],
        init: [0; 2],
        reserved: [0; 8],
    };
    // SAFETY: the request takes a pointer to such a structure, which it only reads.
    unsafe { ioctl(&device, Setter::<CONFIGURE, Config>::new(config)) }?;
    Ok(Loop {
        path,
        _device: device,
    })
}

/// Opens a device, and waits until its node exists.
fn open_soon(path: &str) -> io::Result<OwnedFd> {
    let deadline = Instant::now() + APPEAR_TIMEOUT;
    loop {
        match open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT | Errno::NXIO) if Instant::now() < deadline => {
                std::thread::sleep(POLL_INTERVAL);
            }
            opened => return Ok(opened?),
        }
    }
}

/// The request for the number of an unused device.
struct GetFree;

// SAFETY: the request takes no argument, and returns the number.
unsafe impl Ioctl for GetFree {
    type Output = i32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        GET_FREE
    }

    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(
        output: IoctlOutput,
        _: *mut std::ffi::c_void,
    ) -> rustix::io::Result<i32> {
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_is_as_long_as_the_kernel_s() {
        // 8 bytes, 232 of `struct loop_info64`, 64 reserved.
        assert_eq!(size_of::<Config>(), 304);
        assert_eq!(std::mem::offset_of!(Config, flags), 8 + 52);
    }
}
