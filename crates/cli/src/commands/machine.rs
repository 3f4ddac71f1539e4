use std::time::Duration;

use anyhow::Context as _;
use image_store::StoredImage;
use msb_agent_protocol::v1::Exec;
use msb_runtime::{Lock, Place, Sandbox, VmmCommand};
use msb_vmm::{Choice, Vmm, choose};
use msb_vmm_krun::Krun;
use msb_vmm_qemu::Qemu;

use super::Context;
use super::attach::attach;
use super::run::VmmName;
use crate::failure::{Failure, Outcome, Vanished};
use crate::output;

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
        vmm_command: this_program()?,
        msb_kernel: std::env::var_os("MSB_KERNEL"),
        boot_limit: start.boot_limit,
        end_with_owner: true,
    };
    let running = sandbox
        .start(lock, &place)
        .await
        .context("cannot start the sandbox")?;
    let code = attach(&mut running.client(), exec).await;
    let last_words = running.last_words();
    let ended = running.shutdown().await;
    let code = code?.ok_or(Vanished { last_words })?;
    ended.context("the command ended, but the sandbox did not shut down cleanly")?;
    Ok(code)
}

fn this_program() -> Result<VmmCommand, Failure> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    Ok(VmmCommand {
        program,
        arguments: vec!["vmm".into()],
    })
}
