//! The QEMU backend: machines on the board `microvm`, and on arm64 on the board `virt`.
//!
//! With hardware virtualisation QEMU uses KVM. Without it QEMU emulates the processor, several
//! times slower, so msb also works on hosts that offer no virtualisation at all.
//!
//! The guest has no PCI, no ACPI and no serial port. It finds virtio-mmio devices that QEMU names
//! on the kernel command line, or on arm64 in the device tree. QEMU is confined by the thread that starts it and,
//! with seccomp, by itself. Its only network is the socket for frames that it is given, and it dies
//! with the process that runs the machine.

#![warn(clippy::as_conversions)]

mod arguments;
mod board;
mod child;
mod counter;
mod jail;
mod option;
mod program;
mod starter;

use std::ffi::OsString;
use std::os::fd::AsRawFd;

use msb_jail::{Calls, Jail, Strictness};
use msb_vmm::{
    Backend, Machine, RunError, ServedDisk, Sockets, Unavailable, Vmm, hardware_virtualisation,
};

use crate::arguments::{Accelerator, SocketFds};
use crate::program::Programs;

pub use crate::starter::{Starter, become_program};

/// The environment variable that names the QEMU program to use.
pub const QEMU_VARIABLE: &str = "MSB_QEMU";

const NAME: &str = "qemu";

/// The QEMU backend.
#[derive(Debug, Clone, Default)]
pub struct Qemu {
    program: Option<OsString>,
    search_path: Option<OsString>,
    starter: Option<Starter>,
}

impl Qemu {
    /// Uses `program`, a path or a name to look up in `PATH`. `None` means the usual name.
    pub fn new(program: Option<OsString>) -> Self {
        Self {
            program: program.filter(|program| !program.is_empty()),
            search_path: None,
            starter: None,
        }
    }

    /// Looks up programs in these directories instead of those in `PATH`.
    #[must_use]
    pub fn in_path(mut self, search_path: Option<OsString>) -> Self {
        self.search_path = search_path;
        self
    }

    /// Starts QEMU with this command, which lets no QEMU run whose owner was killed at its start.
    #[must_use]
    pub fn started_by(mut self, starter: Starter) -> Self {
        self.starter = Some(starter);
        self
    }

    /// Uses the program that [`QEMU_VARIABLE`] names.
    pub fn from_environment() -> Self {
        Self::new(std::env::var_os(QEMU_VARIABLE))
    }

    fn programs(&self) -> Result<Programs, Unavailable> {
        let path = self
            .search_path
            .clone()
            .or_else(|| std::env::var_os("PATH"));
        let programs = Programs::find(self.program.as_deref(), path.as_deref())?;
        Ok(Programs {
            starter: self.starter.clone(),
            ..programs
        })
    }

    fn found(&self) -> Result<Programs, RunError> {
        let programs = self.programs();
        programs.map_err(|source| RunError::Unavailable { vmm: NAME, source })
    }
}

impl Backend for Qemu {
    fn name(&self) -> &'static str {
        NAME
    }

    fn probe(&self) -> Result<(), Unavailable> {
        self.programs().map(drop)
    }

    fn serves_shares(&self) -> bool {
        false
    }

    fn device_limit(&self, has_network: bool) -> usize {
        board::HOST.device_limit(has_network)
    }
}

impl Vmm for Qemu {
    /// The machine's files, and QEMU with its libraries and firmware. Programs may be started until
    /// QEMU forbids it itself, once it is set up; no sockets may be made at any time.
    fn jail(&self, machine: &Machine) -> Result<Jail, RunError> {
        Ok(jail::for_machine(machine, &self.found()?))
    }

    fn calls_served_disks(&self) -> bool {
        false
    }

    /// Waits until QEMU has ended. QEMU dies with the calling thread.
    fn run(
        &self,
        machine: &Machine,
        sockets: Sockets,
        strictness: Strictness,
    ) -> Result<(), RunError> {
        let programs = self.found()?;
        let accelerator = match hardware_virtualisation() {
            Ok(()) => Accelerator::Kvm,
            Err(_) => Accelerator::Tcg {
                counter_khz: if cfg!(target_arch = "x86_64") {
                    counter::frequency_khz()
                } else {
                    None
                },
            },
        };
        let disks = sockets.disks.iter().filter_map(ServedDisk::connection);
        let fds = SocketFds {
            shares: sockets.shares.iter().map(AsRawFd::as_raw_fd).collect(),
            disks: disks.map(AsRawFd::as_raw_fd).collect(),
        };
        let arguments = arguments::for_machine(machine, board::HOST, accelerator, &fds)
            .map_err(|source| RunError::Input { vmm: NAME, source })?;
        sockets
            .check(machine)
            .and_then(|()| sockets.check_shares(machine, self.serves_shares()))
            .and_then(|()| sockets.check_disks(machine, self.calls_served_disks()))
            .map_err(|source| RunError::Input { vmm: NAME, source })?;
        machine.check_files()?;
        jail::for_machine(machine, &programs).put_on(strictness)?;
        let mut child = child::start(&programs, &arguments, sockets)?;
        // This thread only has to wait, and to end QEMU if it ends itself.
        Jail::new(Calls::Supervisor)
            .with_signals()
            .put_on(strictness)?;
        child::wait_for_end(&mut child)
    }
}
