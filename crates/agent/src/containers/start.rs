use std::os::unix::net::UnixStream;

use container_plan::Process as ProcessPlan;
use guest_container::{Answer, receive_answer, send_go};
use msb_agent_protocol::v1::container_event::Event;
use msb_agent_protocol::v1::{ContainerStarted, ExecContainer, ExecInput, Failure, StartContainer};
use msb_agent_protocol::{Status, Streaming};
use tokio::sync::oneshot;

use super::container::Waiting;
use super::create::{hear_ready, join, pair, words};
use super::{Containers, blocking, finish, invalid, refused};
use crate::exec::{self, ContainerProcess, Events, Pipes};

impl Containers {
    /// Lets the first process of a container become its program, and carries its streams.
    pub(super) async fn start(
        &self,
        start: StartContainer,
        inputs: Streaming<ExecInput>,
    ) -> Result<Events, Status> {
        self.admit()?;
        let container = self.get(&start.container_id)?;
        let waiting = container.take_waiting()?;
        let containers = self.clone();
        finish(async move {
            let Waiting {
                process,
                control,
                ended,
            } = waiting;
            let pid = container.pid();
            containers.tell(&container.id, Event::Started(ContainerStarted { pid }));
            match blocking(move || let_go(&control)).await {
                Ok(Some(failure)) => Ok(exec::not_started(failure)),
                Ok(None) => Ok(exec::carry(process, inputs, ended, &containers.0.running)),
                Err(status) => {
                    let _ = container.group.kill();
                    Err(status)
                }
            }
        })
        .await
    }

    /// Runs a further process in a container, and carries its streams.
    pub(super) async fn exec(
        &self,
        exec: ExecContainer,
        inputs: Streaming<ExecInput>,
    ) -> Result<Events, Status> {
        let container = self.get(&exec.container_id)?;
        container.joinable()?;
        let plan = ProcessPlan::from_bytes(&exec.process).map_err(|error| invalid(&error))?;
        let containers = self.clone();
        finish(async move {
            let (control, inherited) = pair()?;
            let kept = vec![inherited];
            let launched = containers.launch(ContainerProcess {
                words: words(&kept),
                namespaces: Some(container.namespaces.clone()),
                kept,
                pipes: plan.terminal.is_none().then_some(Pipes {
                    has_stdin: exec.stdin,
                    owner: plan.uid,
                }),
            });
            // A process cannot enter the namespaces of one that has ended.
            let ended = |status| container.running().err().unwrap_or(status);
            let (mut process, ended) = launched.map_err(ended)?;
            let (pid, shared) = (process.pid, container.clone());
            let set_up = blocking(move || {
                join(&shared.group, pid, plan.oom_score_adj)?;
                let terminal = hear_ready(&control, &[&shared.plan, &exec.process])?;
                Ok((terminal, let_go(&control)?))
            });
            let started = set_up.await.and_then(|(terminal, failure)| {
                let terminal = terminal.map(|master| exec::take_terminal(&mut process, master));
                let terminal = terminal.transpose();
                terminal.map_err(|error| refused("watch the terminal", &error))?;
                Ok(failure)
            });
            match started {
                Ok(None) => {}
                Ok(Some(failure)) => return Ok(exec::not_started(failure)),
                Err(status) => {
                    drop(process);
                    containers.give_up(pid, ended).await;
                    return Err(status);
                }
            }
            let (pass_on, passed) = oneshot::channel();
            let watcher = containers.clone();
            tokio::spawn(async move {
                if let Ok(status) = ended.await {
                    watcher.report_out_of_memory(&container);
                    // Nobody listens to a process whose host is gone.
                    let _ = pass_on.send(status);
                }
            });
            Ok(exec::carry(process, inputs, passed, &containers.0.running))
        })
        .await
    }
}

/// Starts a process that is ready. Returns why it has not become its program; `None` if it has, or was killed.
fn let_go(control: &UnixStream) -> Result<Option<Failure>, Status> {
    let sent = send_go(control);
    match receive_answer(control) {
        Ok(Answer::End) => Ok(None),
        Ok(Answer::Failed(failure)) => Ok(Some(failure)),
        Ok(Answer::Ready(_)) => Err(Status::internal("the container's process is ready twice")),
        Err(error) => {
            let error = sent.err().unwrap_or(error);
            Err(refused("start the container's process", &error))
        }
    }
}
