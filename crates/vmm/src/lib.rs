//! The description of a virtual machine, common to all VMM backends.
//!
//! A [`Machine`] is the description: the kernel, the disks in their order, the memory. A [`Vmm`]
//! runs it, and [`choose`] picks a [`Backend`]. Both are plain data, so the process that decides what
//! to run need not link the code that runs it.

#![warn(clippy::as_conversions)]

mod choose;
mod command_line;
mod error;
mod files;
mod hardware;
mod jail;
mod krun;
mod machine;
mod sockets;

use msb_jail::{Jail, Strictness};

pub use choose::{ChooseError, Selection, UnknownVmm, VmmChoice, choose};
pub use error::{InvalidMachine, Requirement, RunError, Unavailable};
pub use hardware::hardware_virtualisation;
pub use krun::KrunBackend;
pub use machine::{
    AGENT_PORT_NAME, Disk, DiskAccess, DiskFormat, MEMORY_MIN_MIB, Machine, NetworkDevice,
    SERIAL_MAX_BYTES, SHARE_TAG_MAX_BYTES, Share, ShareEntry, ShareKind, Shown,
};
pub use sockets::{ServedDisk, Sockets};

/// A hypervisor, or an emulator in its place, as a process sees it that only chooses one.
pub trait Backend {
    /// Returns the VMM's name for `--vmm`.
    fn name(&self) -> &'static str;

    /// Checks that this host can run the VMM now.
    ///
    /// # Errors
    /// The missing requirement, with its remedy.
    fn probe(&self) -> Result<(), Unavailable>;

    /// Returns true if it serves shares itself: those that show a directory, and no others. Else each has a process of
    /// its own, and [`Sockets::shares`] leads to it.
    fn serves_shares(&self) -> bool;

    /// Returns the most disks and shares that a machine may have together, with a network device or without.
    fn device_limit(&self, has_network: bool) -> usize;
}

/// A hypervisor, or an emulator in its place, that this process can run.
pub trait Vmm: Backend {
    /// Returns the jail of the process that runs `machine`, and of its children, while the guest runs.
    ///
    /// # Errors
    /// If the machine's files cannot be determined, or a program is missing.
    fn jail(&self, machine: &Machine) -> Result<Jail, RunError>;

    /// Returns true if it reads and writes served disks by calls, on threads of this process. Else it
    /// has a vhost-user connection to the server of each.
    fn calls_served_disks(&self) -> bool;

    /// Runs `machine` until the guest powers off. `sockets` connect it to the host.
    ///
    /// A backend may end the calling process instead of returning, so nothing that must happen may
    /// follow this call: give each machine its own process. When that process dies, for any reason,
    /// the machine dies with it.
    ///
    /// Before the guest runs, the calling thread and the machine are confined irrevocably, as
    /// strictly as `strictness` says: see [`Vmm::jail`].
    ///
    /// # Errors
    /// If the machine could not be started, or did not end by the guest's power-off.
    fn run(
        &self,
        machine: &Machine,
        sockets: Sockets,
        strictness: Strictness,
    ) -> Result<(), RunError>;
}
