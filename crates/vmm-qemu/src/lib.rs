//! Machines under QEMU, on the `microvm` board.
//!
//! With hardware virtualisation QEMU uses KVM. Without it QEMU emulates the processor, several
//! times slower, which makes msb work on hosts that offer no virtualisation at all.
//!
//! The board has no PCI, no ACPI and no legacy serial port; what the guest finds are virtio-mmio
//! devices that QEMU names on the kernel command line. QEMU confines itself with seccomp, has no
//! network but the frames on a socket that it is given, and dies with the process that runs the machine.

#![warn(clippy::as_conversions)]

mod arguments;
mod child;
mod counter;
mod option;
mod program;

use std::ffi::OsString;

use msb_vmm::{Machine, RunError, Sockets, Unavailable, Vmm, hardware_virtualisation};

use crate::arguments::Accelerator;
use crate::program::Programs;

/// The environment variable that names the QEMU program to use.
pub const QEMU_VARIABLE: &str = "MSB_QEMU";

const NAME: &str = "qemu";

/// The QEMU backend.
#[derive(Debug, Clone, Default)]
pub struct Qemu {
    program: Option<OsString>,
}

impl Qemu {
    /// Uses `program`, a path or a name to look up in `PATH`; without it, the usual name.
    pub fn new(program: Option<OsString>) -> Self {
        Self {
            program: program.filter(|program| !program.is_empty()),
        }
    }

    /// Uses what [`QEMU_VARIABLE`] says.
    pub fn from_environment() -> Self {
        Self::new(std::env::var_os(QEMU_VARIABLE))
    }
}

impl Vmm for Qemu {
    fn name(&self) -> &'static str {
        NAME
    }

    fn probe(&self) -> Result<(), Unavailable> {
        Programs::find(self.program.as_deref()).map(drop)
    }

    /// Returns when QEMU has ended. QEMU dies with the calling thread.
    fn run(&self, machine: &Machine, sockets: Sockets) -> Result<(), RunError> {
        let programs = Programs::find(self.program.as_deref())
            .map_err(|source| RunError::Unavailable { vmm: NAME, source })?;
        let accelerator = match hardware_virtualisation() {
            Ok(()) => Accelerator::Kvm,
            Err(_) => Accelerator::Tcg {
                counter_khz: counter::frequency_khz(),
            },
        };
        let arguments = arguments::of(machine, accelerator)
            .map_err(|source| RunError::Input { vmm: NAME, source })?;
        sockets
            .check(machine)
            .map_err(|source| RunError::Input { vmm: NAME, source })?;
        machine.check_files()?;
        child::run(&programs, &arguments, sockets)
    }
}
