use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use image_store::StoredImage;
use msb_agent_protocol::v1::Exec;
use msb_jail::{JAIL_VARIABLE, Strictness};
use msb_runtime::{Exit, Home, Lock, Place, Running, Sandbox, VmmCommand};
use msb_vmm::{Choice, Vmm, choose};
use msb_vmm_krun::Krun;
use msb_vmm_qemu::{QEMU_VARIABLE, Qemu};

use super::Context;
use super::attach::attach;
use super::run::VmmName;
use crate::failure::{Failure, Outcome, Vanished};
use crate::output;

/// How long a machine whose command did not start may take to end.
const END_LIMIT: Duration = Duration::from_secs(20);

/// What starting a sandbox needs besides the sandbox.
pub(crate) struct Start<'a> {
    pub(crate) context: &'a Context,
    /// The image, checked.
    pub(crate) image: &'a StoredImage,
    pub(crate) vmm: VmmName,
    pub(crate) boot_limit: Duration,
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

/// Starts the sandbox, runs `exec` in it with this process's streams, and shuts it down.
pub(crate) async fn start_and_attach(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
    exec: Exec,
) -> Outcome {
    let running = boot(start, sandbox, lock, None).await?;
    let code = attach(&mut running.client(), exec).await;
    let last_words = running.last_words();
    let ended = running.shutdown().await;
    let code = code?.ok_or(Vanished { last_words })?;
    ended.context("the command ended, but the sandbox did not shut down cleanly")?;
    Ok(code)
}

/// Starts the sandbox for the sake of `exec`, which goes on without this process.
pub(crate) async fn start_and_leave(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
    exec: Exec,
) -> Outcome {
    let booted = boot(start, sandbox, lock, Some(exec)).await;
    // A command that does not start ends its machine, maybe before this process has seen it run.
    if let Some(Exit {
        code,
        error: Some(error),
        ..
    }) = sandbox.exit()?
    {
        // The machine is on its way out; whoever is told may remove the sandbox.
        let _ = tokio::time::timeout(END_LIMIT, sandbox.wait()).await;
        return Err(Failure::with_exit_code(anyhow!(error), code));
    }
    booted?.detach();
    Ok(0)
}

async fn boot(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
    first_command: Option<Exec>,
) -> Result<Running, Failure> {
    let choice = match start.vmm {
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
    let place = Place {
        home: start.context.home.clone(),
        image: start.image.clone(),
        vmm: selection.vmm.name(),
        vmm_command: vmm_command(&start.context.home)?,
        msb_kernel: std::env::var_os("MSB_KERNEL"),
        boot_limit: start.boot_limit,
        first_command,
        jail: strictness(start.context)?,
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

/// This program once more. Its environment will be empty, so what it takes of that it is told.
fn vmm_command(home: &Home) -> Result<VmmCommand, Failure> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut arguments: Vec<OsString> = vec!["--home".into(), home.root().into(), "vmm".into()];
    for (option, variable) in [("--search-path", "PATH"), ("--qemu", QEMU_VARIABLE)] {
        if let Some(value) = std::env::var_os(variable) {
            arguments.extend([option.into(), value]);
        }
    }
    Ok(VmmCommand { program, arguments })
}
