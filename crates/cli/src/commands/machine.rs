use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use image_store::{StoredImage, Trust};
use msb_jail::{JAIL_VARIABLE, Strictness};
use msb_runtime::{Exit, Home, Lock, Mount, Place, Running, Sandbox, StartError, VmmCommand};
use msb_vmm::{Choice, Vmm, choose};
use msb_vmm_krun::Krun;
use msb_vmm_qemu::{QEMU_VARIABLE, Qemu};

use super::Context;
use crate::failure::Failure;
use crate::output;
use crate::terminal;

// Which machine runs a sandbox.
#[derive(Debug, clap::Args)]
pub(crate) struct MachineArguments {
    /// Which VMM runs it: libkrun, QEMU, or libkrun where the host can and QEMU elsewhere
    #[arg(long, value_enum, default_value_t, env = "MSB_VMM")]
    pub(crate) vmm: VmmName,
    /// How long the guest may take to answer
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    boot_timeout: u64,
    /// When to read all of the image and compare it with its digests before the boot
    #[arg(long, value_enum, default_value_t, env = "MSB_VERIFY", value_name = "WHEN",
        num_args = 0..=1, require_equals = true, default_missing_value = "always")]
    verify: VerifyPolicy,
}

/// When an image's content is compared with its digests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum VerifyPolicy {
    /// What changed since it was last compared, as the host's kernel tells
    #[default]
    Changed,
    /// Everything, every time
    Always,
}

impl MachineArguments {
    /// How long the guest may take to answer.
    pub(crate) const fn boot_limit(&self) -> Duration {
        Duration::from_secs(self.boot_timeout)
    }

    /// How well the image must prove itself.
    pub(crate) const fn trust(&self) -> Trust {
        match self.verify {
            VerifyPolicy::Changed => Trust::Stamp,
            VerifyPolicy::Always => Trust::Digest,
        }
    }
}

/// The VMMs by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum VmmName {
    /// libkrun where the host can, QEMU elsewhere
    #[default]
    Auto,
    /// libkrun, with hardware virtualisation
    Krun,
    /// QEMU, also without hardware virtualisation
    Qemu,
}

/// What a user must know who lets a guest write to a directory through libkrun's own server.
const KRUN_WRITES: &str = "root in this guest can change modes and times of your other files too, \
    not their contents: libkrun judges no names in a directory that may be written; --vmm qemu does";

/// What starting a sandbox needs besides the sandbox.
pub(crate) struct Start<'a> {
    pub(crate) context: &'a Context,
    /// The image, checked.
    pub(crate) image: &'a StoredImage,
    pub(crate) machine: &'a MachineArguments,
}

/// Every VMM of this build.
pub(crate) struct Backends {
    krun: Krun,
    qemu: Qemu,
}

impl Backends {
    /// As the environment sets them up.
    pub(crate) fn from_environment() -> Self {
        Self {
            krun: Krun,
            qemu: Qemu::from_environment(),
        }
    }

    /// With this QEMU, a path or a name to look up in these directories.
    pub(crate) fn new(qemu: Option<OsString>, search_path: Option<OsString>) -> Self {
        Self {
            krun: Krun,
            qemu: Qemu::new(qemu).in_path(search_path),
        }
    }

    /// The preferred one first.
    pub(crate) fn all(&self) -> [&dyn Vmm; 2] {
        [&self.krun, &self.qemu]
    }
}

/// Starts the sandbox and leaves its first command to itself.
pub(crate) async fn start_and_leave(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
) -> Result<(), Failure> {
    let booted = boot(start, sandbox, lock, false).await;
    // A command that does not start ends its machine, maybe before this process has seen it run.
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

/// Whether the sandbox's process was started. Before that, what is known of its command's end is of an
/// earlier run.
fn had_machine<T>(booted: &Result<T, Failure>) -> bool {
    match booted {
        Ok(_) => true,
        Err(failure) => failure
            .cause::<StartError>()
            .is_some_and(StartError::is_of_the_machine),
    }
}

/// Boots the sandbox. With `attached`, its first command waits for who is to attach.
pub(crate) async fn boot(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
    attached: bool,
) -> Result<Running, Failure> {
    let choice = match start.machine.vmm {
        VmmName::Auto => Choice::Auto,
        VmmName::Krun => Choice::Krun,
        VmmName::Qemu => Choice::Qemu,
    };
    let backends = Backends::from_environment();
    let all = backends.all();
    let selection = choose(choice, &all)?;
    if let Some(notice) = &selection.notice
        && !start.context.quiet
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
    let place = Place {
        home: start.context.home.clone(),
        image: start.image.clone(),
        trust: start.machine.trust(),
        vmm: selection.vmm.name(),
        vmm_command: vmm_command(start.context)?,
        msb_kernel: std::env::var_os("MSB_KERNEL"),
        boot_limit: start.machine.boot_limit(),
        attached,
        window: window.map(|size| (size.rows, size.columns)),
        jail: strictness(start.context)?,
        timeline: start.context.timeline.clone(),
    };
    // What this process was left by mistake goes no further.
    msb_jail::keep_descriptors_from_children();
    let started = sandbox.start(lock, &place).await;
    Ok(started.context("cannot start the sandbox")?)
}

/// What the user says of the jail.
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

/// This program with another subcommand, for a process of its own. Its environment will be empty, so
/// what it takes of that it is told.
pub(crate) fn this_program(home: &Home, subcommand: &str) -> Result<VmmCommand, Failure> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let arguments = vec!["--home".into(), home.root().into(), subcommand.into()];
    Ok(VmmCommand { program, arguments })
}

fn vmm_command(context: &Context) -> Result<VmmCommand, Failure> {
    let mut command = this_program(&context.home, "vmm")?;
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
        Ok(Err(error).context("cannot start the sandbox")?)
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
            last_words: Vec::new(),
        };
        assert!(had_machine(&failed(silent)));
        assert!(had_machine(&Ok(())));
    }
}
