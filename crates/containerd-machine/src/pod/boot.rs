//! The boot of the machine for its container.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use msb_containerd_shim::{Container, PodError};
use msb_runtime::{Home, Sandbox as StoredSandbox};
use msb_sdk::{Msb, Network, PullPolicy, Sandbox, Size as Bytes};
use oci_spec_plan::SpecPlan;
use tokio::task::spawn_blocking;

use super::{Machine, SandboxPod, lock};
use crate::client::client;
use crate::name::sandbox_name;
use crate::size::Size;
use crate::{image, specification};

/// The label of a sandbox with the namespace of its container.
const NAMESPACE_LABEL: &str = "dev.msb.containerd.namespace";
/// The label of a sandbox with the id of its container.
const ID_LABEL: &str = "dev.msb.containerd.id";

impl SandboxPod {
    /// Boots the sandbox of a container: first its specification is planned, then its image is brought into the store.
    pub(super) async fn boot_for(&self, container: &Container) -> Result<(), PodError> {
        if container.is_sandbox {
            let reason = "pods of the CRI are not supported yet: this runtime runs one container \
                 in a machine";
            return Err(PodError::Refused(reason.to_owned()));
        }
        let plan = self.read_plan(container).await?;
        let msb = client().map_err(other)?;
        let image = image::prepare(&msb, &self.group, &container.id).await;
        let image = image.map_err(|error| PodError::Other(error.into()))?;
        let size = Size::of(&plan.container.cgroup);
        let sandbox = self.run(&msb, image, size).await?;
        let machine = connect(&msb, sandbox).await?;
        let pid = machine.stored.machine_process_id();
        let pid = pid.map_err(|error| PodError::Other(error.into()))?;
        self.vmm_pid
            .store(pid.ok_or(PodError::Ended)?, Ordering::SeqCst);
        self.watch(&machine.sandbox);
        *lock(&self.plan) = Some(plan.container);
        *lock(&self.machine) = Some(machine);
        Ok(())
    }

    /// Reads the specification of a container, and logs the fields that have no effect.
    async fn read_plan(&self, container: &Container) -> Result<SpecPlan, PodError> {
        let container = container.clone();
        let planned = spawn_blocking(move || specification::read(&container)).await;
        let plan = planned.map_err(|error| PodError::Other(error.into()))??;
        for note in &plan.notes {
            let (path, reason) = (&note.path, note.reason);
            self.log.info(&format!(
                "{path} of the specification has no effect: {reason}"
            ));
        }
        if !plan.host.cgroups_path.is_empty() {
            self.log.info(
                "linux.cgroupsPath of the specification has no effect: the machine is in the \
                 control group of containerd",
            );
        }
        Ok(plan)
    }

    /// Creates and starts the sandbox, which this process owns.
    async fn run(&self, msb: &Msb, image: String, size: Size) -> Result<Sandbox, PodError> {
        let mut request = msb
            .sandboxes()
            .run(image)
            .name(sandbox_name(&self.group))
            .label(NAMESPACE_LABEL, self.group.namespace.as_str())
            .label(ID_LABEL, self.group.id.as_str())
            .pull(PullPolicy::Never)
            .network(Network::none());
        if let Some(bytes) = size.memory_bytes {
            request = request.memory(Bytes::new(bytes));
        }
        if let Some(cpus) = size.cpus {
            request = request.cpus(cpus);
        }
        let sandbox = request.await.map_err(other)?;
        for notice in sandbox.warnings() {
            self.log.warn(&notice.message);
        }
        Ok(sandbox)
    }

    /// Notes the end of the machine when it comes, whatever its cause.
    fn watch(&self, sandbox: &Sandbox) {
        let (ended, log) = (sandbox.wait_for_machine(), self.log.clone());
        let has_ended = Arc::clone(&self.has_ended);
        tokio::spawn(async move {
            if let Err(error) = ended.await {
                log.warn(&format!("the virtual machine ended: {error}"));
            }
            has_ended.send_replace(true);
        });
    }
}

/// Connects to a sandbox that has just been started.
async fn connect(msb: &Msb, sandbox: Sandbox) -> Result<Machine, PodError> {
    let (home, id) = (Home::new(msb.home()), sandbox.id());
    let found = spawn_blocking(move || StoredSandbox::find(&home, &id)).await;
    let found = found.map_err(|error| PodError::Other(error.into()))?;
    let found = found.map_err(|error| PodError::Other(error.into()))?;
    let stored = found.ok_or(PodError::Ended)?;
    let client = stored.connect().await;
    let client = client.map_err(|error| PodError::Other(error.into()))?;
    Ok(Machine {
        sandbox,
        stored,
        client,
    })
}

/// Returns the error of an operation of msb, with its remedies.
fn other(error: msb_sdk::Error) -> PodError {
    match error.hint() {
        None => PodError::Other(error.into()),
        Some(hint) => {
            let hint = hint.replace('\n', "; ");
            PodError::Other(format!("{error}; hint: {hint}").into())
        }
    }
}
