use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context as _;
use msb_runtime::{Home, VmmCommand};
use msb_sdk::{StartOptions, Verify, VmmChoice};
use msb_vmm::Vmm;
use msb_vmm_krun::Krun;
use msb_vmm_qemu::{Qemu, Starter};

use crate::internal::QEMU_COMMAND;
use msb_terminal::failure::Failure;

/// The environment variable that selects the VMM.
const VMM_VARIABLE: &str = "MSB_VMM";

// The options of the machine that runs a sandbox.
#[derive(Debug, clap::Args)]
pub(crate) struct MachineArguments {
    /// VMM that runs the machine
    #[arg(long, value_enum, default_value_t, env = VMM_VARIABLE)]
    pub(crate) vmm: VmmName,
    /// Time limit for the guest to boot and answer
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    boot_timeout: u64,
    /// When to check the trees that prove reads
    ///
    /// They are checked before the boot, and made where an older msb made none. Reads are always verified.
    #[arg(long, value_enum, default_value_t, env = "MSB_VERIFY", value_name = "WHEN",
        num_args = 0..=1, require_equals = true, default_missing_value = "always")]
    verify: VerifyPolicy,
}

/// When the trees of an image, the kernel and the boot disk are checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum VerifyPolicy {
    /// If a file changed since it was last checked
    #[default]
    Changed,
    /// At each start
    Always,
}

impl MachineArguments {
    /// Returns the parameters of a start.
    pub(crate) fn start(&self) -> StartOptions {
        let mut start = StartOptions::default();
        start.vmm = Some(self.vmm.choice());
        start.boot_timeout_ms = Some(self.boot_timeout.saturating_mul(1000));
        start.verify = match self.verify {
            VerifyPolicy::Changed => Verify::Changed,
            VerifyPolicy::Always => Verify::Always,
        };
        start
    }
}

/// The VMMs by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum VmmName {
    /// libkrun if the host can run it, QEMU otherwise
    #[default]
    Auto,
    /// libkrun, with hardware virtualisation
    Krun,
    /// QEMU, also without hardware virtualisation
    Qemu,
}

/// Every VMM of this build.
pub(crate) struct Backends {
    krun: Krun,
    qemu: Qemu,
}

impl Backends {
    /// Returns the VMMs with this QEMU: a path, or a name to look up in these directories.
    ///
    /// # Errors
    /// If the path of this program, which starts QEMU, is unknown.
    pub(crate) fn new(
        qemu: Option<OsString>,
        search_path: Option<OsString>,
    ) -> Result<Self, Failure> {
        let starter = Starter {
            program: this_path()?,
            arguments: vec![QEMU_COMMAND.into()],
        };
        let qemu = Qemu::new(qemu).in_path(search_path).started_by(starter);
        Ok(Self { krun: Krun, qemu })
    }

    /// Returns all VMMs, in order of preference.
    pub(crate) fn all(&self) -> [&dyn Vmm; 2] {
        [&self.krun, &self.qemu]
    }
}

impl VmmName {
    const fn choice(self) -> VmmChoice {
        match self {
            Self::Auto => VmmChoice::Auto,
            Self::Krun => VmmChoice::Krun,
            Self::Qemu => VmmChoice::Qemu,
        }
    }
}

/// Returns the command line that runs this program with another subcommand. The new process has an
/// empty environment, so its settings are passed as arguments.
pub(crate) fn this_program(home: &Home, subcommand: &str) -> Result<VmmCommand, Failure> {
    let program = this_path()?;
    let arguments = vec!["--home".into(), home.root().into(), subcommand.into()];
    Ok(VmmCommand { program, arguments })
}

fn this_path() -> Result<PathBuf, Failure> {
    let path = std::env::current_exe().context("cannot find the path of this program");
    path.map_err(Failure::from)
}
