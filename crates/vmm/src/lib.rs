//! What a virtual machine is, for every VMM backend.
//!
//! A [`Machine`] is a description: which kernel, which disks in which order, how much memory. A
//! [`Vmm`] is who runs it, and [`choose`] picks one. The description is plain data, so the process
//! that decides what to run need not link the code that runs it.

#![warn(clippy::as_conversions)]

mod choose;
mod command_line;
mod error;
mod files;
mod hardware;
mod jail;
mod machine;
mod sockets;

use msb_jail::{Jail, Strictness};

pub use choose::{Choice, ChooseError, Selection, UnknownVmm, choose};
pub use error::{InvalidMachine, RunError, Unavailable};
pub use hardware::hardware_virtualisation;
pub use machine::{
    AGENT_PORT_NAME, Disk, DiskAccess, DiskFormat, MEMORY_MIN_MIB, Machine, NetworkDevice,
    SERIAL_MAX_BYTES, SHARE_TAG_MAX_BYTES, Share,
};
pub use sockets::Sockets;

/// A hypervisor, or an emulator that plays one.
pub trait Vmm {
    /// What `--vmm` calls it.
    fn name(&self) -> &'static str;

    /// Whether this host can run it now.
    ///
    /// # Errors
    /// What is missing, and what to do about it.
    fn probe(&self) -> Result<(), Unavailable>;

    /// Whether it serves shared directories itself. Else each has a process of its own, and
    /// [`Sockets::shares`] leads to it.
    fn serves_shares(&self) -> bool;

    /// What is left to the process that runs `machine`, and to what it starts, while the guest runs.
    ///
    /// # Errors
    /// When the machine's files cannot be told, or a program is missing.
    fn jail(&self, machine: &Machine) -> Result<Jail, RunError>;

    /// Runs `machine` until the guest powers off. `sockets` are what joins it to the host.
    ///
    /// A backend may end the calling process instead of returning, so the caller keeps nothing
    /// behind this call that must still happen: give each machine a process of its own. When that
    /// process dies, however it dies, the machine dies with it.
    ///
    /// Before the guest runs, the calling thread is confined for good, as strictly as `strictness`
    /// says, and the machine with it: see [`Vmm::jail`].
    ///
    /// # Errors
    /// When the machine could not be started, or ended otherwise than by the guest's power-off.
    fn run(
        &self,
        machine: &Machine,
        sockets: Sockets,
        strictness: Strictness,
    ) -> Result<(), RunError>;
}
