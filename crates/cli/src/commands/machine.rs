use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::ValueEnum as _;
use image_store::{StoredImage, VerifyMode};
use msb_jail::{JAIL_VARIABLE, Strictness};
use msb_runtime::{
    Exit, Home, Lock, Mount, Room, Running, Sandbox, StartError, StartOptions, VmmCommand,
};
use msb_vmm::{Backend, Choice, Vmm, choose};
use msb_vmm_krun::Krun;
use msb_vmm_qemu::{QEMU_VARIABLE, Qemu};

use super::Context;
use crate::args::VMM_COMMAND;
use crate::failure::{Failure, NotBooted};
use crate::{output, reminder, terminal};

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
    /// When to compare the whole image with its digests
    ///
    /// It is compared before the boot.
    #[arg(long, value_enum, default_value_t, env = "MSB_VERIFY", value_name = "WHEN",
        num_args = 0..=1, require_equals = true, default_missing_value = "always")]
    verify: VerifyPolicy,
}

/// When an image's content is compared with its digests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum VerifyPolicy {
    /// Compare files that changed since they were last compared
    #[default]
    Changed,
    /// Everything, every time
    Always,
}

impl MachineArguments {
    /// Returns the boot timeout: the time that the guest may take to answer.
    pub(crate) const fn boot_timeout(&self) -> Duration {
        Duration::from_secs(self.boot_timeout)
    }

    /// Returns the way in which the image is verified before the boot.
    pub(crate) const fn trust(&self) -> VerifyMode {
        match self.verify {
            VerifyPolicy::Changed => VerifyMode::Stamp,
            VerifyPolicy::Always => VerifyMode::Digest,
        }
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

/// The notice for a guest with a writable host directory that libkrun serves itself.
const KRUN_WRITES: &str = "root in this guest can change modes and times of your other files too, \
    not their contents: libkrun judges no names in a directory that may be written; --vmm qemu does";

/// The name of the reminder that hardware virtualisation is missing.
const EMULATION_NOTICE: &str = "emulation";
/// The time that an ended machine may take to disappear.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);

/// The parameters of a start, besides the sandbox.
pub(crate) struct Start<'a> {
    pub(crate) context: &'a Context,
    /// The image, which has been verified.
    pub(crate) image: &'a StoredImage,
    pub(crate) machine: &'a MachineArguments,
}

/// Every VMM of this build.
pub(crate) struct Backends {
    krun: Krun,
    qemu: Qemu,
}

impl Backends {
    /// Returns the VMMs as the environment configures them.
    pub(crate) fn from_environment() -> Self {
        Self {
            krun: Krun,
            qemu: Qemu::from_environment(),
        }
    }

    /// Returns the VMMs with this QEMU: a path, or a name to look up in these directories.
    pub(crate) fn new(qemu: Option<OsString>, search_path: Option<OsString>) -> Self {
        Self {
            krun: Krun,
            qemu: Qemu::new(qemu).in_path(search_path),
        }
    }

    /// Returns all VMMs, in order of preference.
    pub(crate) fn all(&self) -> [&dyn Backend; 2] {
        [&self.krun, &self.qemu]
    }

    /// Returns all VMMs, to run a machine.
    pub(crate) fn runnable(&self) -> [&dyn Vmm; 2] {
        [&self.krun, &self.qemu]
    }
}

/// Starts the sandbox without attaching to its main command.
pub(crate) async fn start_and_leave(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
) -> Result<(), Failure> {
    let booted = boot(start, sandbox, lock, false).await;
    // A command that cannot be started ends its machine, perhaps before this process has seen it
    // running.
    let exit = had_machine(&booted).then(|| sandbox.first_exit());
    let Some(Exit {
        code,
        error: Some(error),
        ..
    }) = exit.flatten()
    else {
        booted?.detach();
        return Ok(());
    };
    if let Ok(running) = booted {
        running.ended().await?;
    }
    Err(Failure::with_exit_code(anyhow!(error), code))
}

/// Returns true if the VMM process was started. Otherwise a recorded exit of the command belongs to
/// an earlier run.
fn had_machine<T>(booted: &Result<T, Failure>) -> bool {
    match booted {
        Ok(_) => true,
        Err(failure) => failure
            .cause::<StartError>()
            .is_some_and(StartError::is_of_the_machine),
    }
}

impl VmmName {
    const fn choice(self) -> Choice {
        match self {
            Self::Auto => Choice::Auto,
            Self::Krun => Choice::Krun,
            Self::Qemu => Choice::Qemu,
        }
    }

    /// Returns the room for mounts of the selected VMM. `None` if no VMM can run; the start reports
    /// the reason.
    pub(crate) fn room(self, has_network: bool) -> Option<Room> {
        let backends = Backends::from_environment();
        let all = backends.all();
        let selection = choose(self.choice(), &all).ok()?;
        Some(Room::for_vmm(selection.vmm, has_network))
    }

    /// Returns the VMM that `MSB_VMM` names, for a command that does not start a machine itself.
    pub(crate) fn of_environment() -> Self {
        let word = std::env::var(VMM_VARIABLE).unwrap_or_default();
        Self::from_str(&word, true).unwrap_or_default()
    }
}

/// Boots the sandbox. With `attached`, its main command waits for a client to attach. If this
/// process is interrupted meanwhile, the machine ends.
pub(crate) async fn boot(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
    attached: bool,
) -> Result<Running, Failure> {
    let booted = tokio::select! {
        // Signals are polled first, so that none is missed.
        biased;
        code = start.context.interrupts.wait() => {
            Err(Failure::with_exit_code(anyhow!("interrupted"), code))
        }
        booted = boot_to_end(start, sandbox, lock, attached) => booted,
    };
    booted.map_err(|failure| failure.context(NotBooted))
}

async fn boot_to_end(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
    attached: bool,
) -> Result<Running, Failure> {
    let backends = Backends::from_environment();
    let all = backends.all();
    let selection = choose(start.machine.vmm.choice(), &all)?;
    if let Some(notice) = &selection.notice
        && !start.context.quiet
        && reminder::is_due(start.context.home.root(), EMULATION_NOTICE)
    {
        output::notice(notice);
    }
    if selection.vmm.name() == backends.krun.name()
        && sandbox.spec.mounts.iter().any(Mount::opens_the_host)
        && !start.context.quiet
    {
        output::notice(KRUN_WRITES);
    }
    let window = (attached && terminal::stdin_is_terminal()).then(terminal::size);
    let place = StartOptions {
        home: start.context.home.clone(),
        image: start.image.clone(),
        trust: start.machine.trust(),
        vmm: selection.vmm.name(),
        room: Room::for_vmm(selection.vmm, sandbox.spec.network.is_some()),
        vmm_command: vmm_command(start.context)?,
        msb_kernel: std::env::var_os("MSB_KERNEL"),
        boot_timeout: start.machine.boot_timeout(),
        attached,
        window: window.map(|size| (size.rows, size.columns)),
        owner: None,
        jail: strictness(start.context)?,
        timeline: start.context.timeline.clone(),
    };
    Ok(sandbox.start(lock, &place).await?)
}

/// Removes a sandbox whose machine has ended or is about to. A failure is reported as a notice.
pub(crate) async fn discard(sandbox: Sandbox) {
    // The machine may take a moment to end.
    let _ = tokio::time::timeout(DISCARD_TIMEOUT, sandbox.wait()).await;
    if let Err(error) = sandbox.remove() {
        output::notice(&error.to_string());
    }
}

/// Returns the strictness of the confinement that the user has set.
fn strictness(context: &Context) -> Result<Strictness, Failure> {
    let word = std::env::var(JAIL_VARIABLE).unwrap_or_default();
    let strictness = match word.as_str() {
        "" => Strictness::default(),
        word => word.parse().context(JAIL_VARIABLE)?,
    };
    if strictness == Strictness::Off && !context.quiet {
        output::notice("the virtual machine's process is not confined: MSB_JAIL=off");
    }
    Ok(strictness)
}

/// Returns the command line that runs this program with another subcommand. The new process has an
/// empty environment, so its settings are passed as arguments.
pub(crate) fn this_program(home: &Home, subcommand: &str) -> Result<VmmCommand, Failure> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let arguments = vec!["--home".into(), home.root().into(), subcommand.into()];
    Ok(VmmCommand { program, arguments })
}

fn vmm_command(context: &Context) -> Result<VmmCommand, Failure> {
    let mut command = this_program(&context.home, VMM_COMMAND)?;
    if let Some(timeline) = context.timeline.path() {
        command
            .arguments
            .extend(["--timeline".into(), timeline.into()]);
    }
    for (option, variable) in [("--search-path", "PATH"), ("--qemu", QEMU_VARIABLE)] {
        if let Some(value) = std::env::var_os(variable) {
            command.arguments.extend([option.into(), value]);
        }
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(error: StartError) -> Result<(), Failure> {
        Err(Failure::from(error).context(NotBooted))
    }

    #[test]
    fn a_start_without_a_machine_does_not_ask_how_the_last_one_ended() {
        let taken = StartError::Io {
            action: "prepare the sandbox",
            source: std::io::ErrorKind::StorageFull.into(),
        };
        assert!(!had_machine(&failed(taken)));
        let other: Result<(), Failure> = Err(anyhow!("no VMM").into());
        assert!(!had_machine(&other));
        let silent = StartError::Silent {
            limit_s: 1,
            log_tail: Vec::new(),
        };
        assert!(had_machine(&failed(silent)));
        assert!(had_machine(&Ok(())));
    }
}
