use container_plan::Cgroup;
use msb_agent_protocol::Status;
use msb_agent_protocol::v1::{
    ContainerStatsReply, ResizeContainerRequest, SignalContainerRequest, UpdateContainerRequest,
};

use super::{Containers, blocking, invalid, refused};
use crate::exec;

/// The highest number of a signal.
const SIGNAL_MAX: i32 = 64;

impl Containers {
    /// Sends a signal to the first process of a container, or to all processes.
    pub(super) async fn signal(&self, request: SignalContainerRequest) -> Result<(), Status> {
        let signal = request.signal;
        if !(1..=SIGNAL_MAX).contains(&signal) {
            return Err(Status::invalid_argument(format!(
                "{signal} is not the number of a signal"
            )));
        }
        let container = self.get(&request.container_id)?;
        container.running()?;
        if !request.all {
            // Between its end and the report of it the number may belong to another process.
            if self.0.reaper.has_child(container.pid) {
                exec::send_signal(container.pid, signal);
            }
            return Ok(());
        }
        blocking(move || {
            let sent = if signal == libc::SIGKILL {
                container.group.kill()
            } else {
                container.group.pids().map(|pids| {
                    let pids = pids.into_iter().filter_map(|pid| i32::try_from(pid).ok());
                    pids.for_each(|pid| exec::send_signal(pid, signal));
                })
            };
            sent.map_err(|error| refused("signal the container", &error))
        })
        .await
    }

    /// Sets the size of the terminal of a first process.
    pub(super) fn resize(&self, request: &ResizeContainerRequest) -> Result<(), Status> {
        let container = self.get(&request.container_id)?;
        let terminal = container.terminal.as_ref();
        let terminal = terminal.ok_or_else(|| {
            Status::failed_precondition(format!("the container {} has no terminal", container.id))
        })?;
        terminal.resize(request.size.unwrap_or_default());
        Ok(())
    }

    /// Lists the processes of a container.
    pub(super) async fn pids(&self, id: &str) -> Result<Vec<u32>, Status> {
        let container = self.get(id)?;
        blocking(move || {
            let pids = container.group.pids();
            pids.map_err(|error| refused("list the processes", &error))
        })
        .await
    }

    /// Reads the figures of a container.
    pub(super) async fn stats(&self, id: &str) -> Result<ContainerStatsReply, Status> {
        let container = self.get(id)?;
        blocking(move || Ok(container.group.stats())).await
    }

    /// Changes the limits of a container.
    pub(super) async fn update(&self, request: UpdateContainerRequest) -> Result<(), Status> {
        let container = self.get(&request.container_id)?;
        let cgroup = Cgroup::from_bytes(&request.cgroup).map_err(|error| invalid(&error))?;
        blocking(move || {
            let limited = container.group.limit(&cgroup.controls);
            limited.map_err(|error| invalid(&error))
        })
        .await
    }
}
