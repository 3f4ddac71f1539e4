//! libkrun's calls, each as a safe function with a typed error.
#![expect(unsafe_code, reason = "libkrun's interface is C: pointers to strings")]

use std::ffi::{CString, c_int};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, IntoRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;
use std::sync::Once;

use imago::Registered;
use msb_vmm::{Disk, DiskAccess, InvalidMachine, NetworkDevice, Share, Shown};

/// `KRUN_KERNEL_FORMAT_*` (libkrun.h): ELF on x86-64, a flat `Image` on arm64.
const KERNEL_FORMAT: u32 = if cfg!(target_arch = "x86_64") { 1 } else { 0 };

/// `KRUN_DISK_FORMAT_RAW`. An open disk is raw, too.
const DISK_FORMAT_RAW: u32 = 0;

/// `KRUN_SYNC_FULL`: a guest's flush is a sync on the host.
const SYNC_FULL: u32 = 2;

/// No offloads: every frame fits the wire and carries its checksums (`NET_FEATURE_*`).
const NETWORK_FEATURES: u32 = 0;
/// No DHCP by libkrun's own init, and no greeting as vfkit sends it (`NET_FLAG_*`).
const NETWORK_FLAGS: u32 = 0;

/// No memory window (DAX) in which guest and host share pages of files.
const NO_WINDOW: u64 = 0;

/// Errors go to standard error, without colours; `RUST_LOG` is ignored.
const LOG_TARGET_STDERR: c_int = 2;
const LOG_LEVEL_ERROR: u32 = 1;
const LOG_STYLE_NEVER: u32 = 2;
const LOG_OPTION_NO_ENVIRONMENT: u32 = 1;

/// The error of describing a machine to libkrun.
pub(crate) enum SetupError {
    Machine(InvalidMachine),
    Call(CallError),
    Register(io::Error),
}

impl From<CallError> for SetupError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// A call that libkrun refused.
#[derive(Debug, thiserror::Error)]
#[error("{function}: {error}")]
pub(crate) struct CallError {
    function: &'static str,
    error: io::Error,
}

/// Checks the result of a libkrun call: a number that is not negative, or a negated errno.
fn check(function: &'static str, returned: i32) -> Result<u32, CallError> {
    u32::try_from(returned).map_err(|_| CallError {
        function,
        error: io::Error::from_raw_os_error(returned.saturating_neg()),
    })
}

/// The description of a machine in libkrun.
///
/// It borrows no descriptor. libkrun duplicates the descriptors of ports when the machine starts,
/// so their owner keeps them open until then. It takes ownership of the network's descriptor.
pub(crate) struct Context {
    id: u32,
}

impl Context {
    pub(crate) fn new() -> Result<Self, CallError> {
        start_log();
        let id = check("krun_create_ctx", krun::krun_create_ctx())?;
        Ok(Self { id })
    }

    pub(crate) fn set_size(&mut self, cpus: u8, memory_mib: u32) -> Result<(), CallError> {
        let returned = krun::krun_set_vm_config(self.id, cpus, memory_mib);
        check("krun_set_vm_config", returned).map(drop)
    }

    pub(crate) fn set_kernel(&mut self, path: &Path, command_line: &str) -> Result<(), SetupError> {
        let path = path_string(path)?;
        let command_line =
            CString::new(command_line).map_err(|_| InvalidMachine::KernelArgument {
                argument: command_line.to_owned(),
            })?;
        // SAFETY: the strings are NUL-terminated and outlive the call, which copies them; a null
        // initramfs path means that there is none.
        let returned = unsafe {
            krun::krun_set_kernel(
                self.id,
                path.as_ptr(),
                KERNEL_FORMAT,
                ptr::null(),
                command_line.as_ptr(),
            )
        };
        Ok(check("krun_set_kernel", returned).map(drop)?)
    }

    pub(crate) fn disable_vsock(&mut self) -> Result<(), CallError> {
        let returned = krun::krun_disable_implicit_vsock(self.id);
        check("krun_disable_implicit_vsock", returned).map(drop)
    }

    /// Writes the kernel's console, hvc0, to a file. The console has no input.
    ///
    /// This is libkrun's implicit console: the kernel never uses a port that was added explicitly
    /// as a console, unless a terminal is behind it.
    pub(crate) fn set_console_log(&mut self, path: &Path) -> Result<(), SetupError> {
        let path = path_string(path)?;
        // SAFETY: the string is NUL-terminated and outlives the call, which copies it.
        let returned = unsafe { krun::krun_set_console_output(self.id, path.as_ptr()) };
        Ok(check("krun_set_console_output", returned).map(drop)?)
    }

    /// Adds a console device with one port, `name`, that reads from and writes to `socket`.
    pub(crate) fn add_port(
        &mut self,
        name: &'static str,
        socket: BorrowedFd<'_>,
    ) -> Result<(), CallError> {
        // SAFETY: the call takes no pointer.
        let returned = unsafe { krun::krun_add_virtio_console_multiport(self.id) };
        let device = check("krun_add_virtio_console_multiport", returned)?;
        let name = CString::new(name).unwrap_or_default();
        let fd = socket.as_raw_fd();
        // SAFETY: the string is NUL-terminated and outlives the call, which copies it. The
        // descriptor is only stored as a number until the machine starts.
        let returned =
            unsafe { krun::krun_add_console_port_inout(self.id, device, name.as_ptr(), fd, fd) };
        check("krun_add_console_port_inout", returned).map(drop)
    }

    /// Adds a disk. The guest numbers disks in the order of these calls. libkrun finds an open disk by
    /// its registration, which has to last until the machine starts, and opens any other one itself.
    pub(crate) fn add_disk(
        &mut self,
        disk: &Disk,
        open: Option<&Registered>,
    ) -> Result<(), SetupError> {
        let path = open.map_or(&*disk.path, Registered::path);
        let path = path_string(path)?;
        let serial = CString::new(disk.serial.as_str()).map_err(|_| InvalidMachine::Serial {
            serial: disk.serial.clone(),
        })?;
        let is_read_only = disk.access == DiskAccess::ReadOnly;
        let is_direct_io = false;
        // SAFETY: the strings are NUL-terminated and outlive the call, which copies them.
        let returned = unsafe {
            krun::krun_add_disk3(
                self.id,
                serial.as_ptr(),
                path.as_ptr(),
                DISK_FORMAT_RAW,
                is_read_only,
                is_direct_io,
                SYNC_FULL,
            )
        };
        Ok(check("krun_add_disk3", returned).map(drop)?)
    }

    /// Adds a shared directory, which libkrun serves in this process.
    pub(crate) fn add_share(&mut self, share: &Share) -> Result<(), SetupError> {
        let Shown::Directory(directory) = &share.shown else {
            let tag = share.tag.clone();
            return Err(InvalidMachine::ShareContent { tag }.into());
        };
        let path = path_string(directory)?;
        let tag = CString::new(share.tag.as_str()).map_err(|_| InvalidMachine::Tag {
            tag: share.tag.clone(),
        })?;
        let is_read_only = share.access == DiskAccess::ReadOnly;
        // SAFETY: the strings are NUL-terminated and outlive the call, which copies them.
        let returned = unsafe {
            krun::krun_add_virtiofs3(
                self.id,
                tag.as_ptr(),
                path.as_ptr(),
                NO_WINDOW,
                is_read_only,
            )
        };
        Ok(check("krun_add_virtiofs3", returned).map(drop)?)
    }

    /// Adds a network device, whose frames travel over `socket`.
    ///
    /// libkrun takes ownership of the socket and closes it with the machine. If the machine is not
    /// started, the socket stays open.
    pub(crate) fn add_network(
        &mut self,
        device: NetworkDevice,
        socket: OwnedFd,
    ) -> Result<(), CallError> {
        // SAFETY: a null path means that the descriptor is used; the address is 6 bytes that
        // outlive the call, which copies them. The descriptor is given away, so nothing else closes
        // it.
        let returned = unsafe {
            krun::krun_add_net_unixstream(
                self.id,
                ptr::null(),
                socket.into_raw_fd(),
                device.mac.as_ptr(),
                NETWORK_FEATURES,
                NETWORK_FLAGS,
            )
        };
        check("krun_add_net_unixstream", returned).map(drop)
    }

    /// Starts the machine. On success the process exits with it, so this returns only an error.
    pub(crate) fn start_enter(self) -> CallError {
        let returned = krun::krun_start_enter(self.id);
        let error = io::Error::from_raw_os_error(returned.saturating_neg());
        CallError {
            function: "krun_start_enter",
            error,
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A context that was started is freed already, and the error of that is harmless.
        krun::krun_free_ctx(self.id);
    }
}

/// Starts libkrun's log once; a second start would panic.
fn start_log() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // SAFETY: libkrun takes ownership of no descriptor when the target is standard error.
        let _ = unsafe {
            krun::krun_init_log(
                LOG_TARGET_STDERR,
                LOG_LEVEL_ERROR,
                LOG_STYLE_NEVER,
                LOG_OPTION_NO_ENVIRONMENT,
            )
        };
    });
}

/// Converts a path, which libkrun reads as UTF-8.
fn path_string(path: &Path) -> Result<CString, InvalidMachine> {
    let invalid = || InvalidMachine::Path {
        path: path.to_owned(),
    };
    path.to_str().ok_or_else(invalid)?;
    CString::new(path.as_os_str().as_bytes()).map_err(|_| invalid())
}
