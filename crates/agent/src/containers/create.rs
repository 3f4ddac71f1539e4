use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use container_plan::{ContainerPlan, NamespaceScope};
use guest_container::{Answer, Group, PROGRAM_NAME, receive_answer, send_parts};
use msb_agent_protocol::Status;
use msb_agent_protocol::v1::container_event::Event;
use msb_agent_protocol::v1::{
    ContainerCreated, ContainerExited, ContainerOutOfMemory, CreateContainerRequest, ExitStatus,
};
use rustix::thread::ThreadNameSpaceType;
use tokio::sync::oneshot;

use super::container::{Container, Parts, Waiting, exit_code};
use super::ground::Ground;
use super::{Containers, blocking, delete, finish, invalid, not_started, refused};
use crate::console;
use crate::exec::{self, ContainerProcess, NamespacesOf, Pipes, Process};

/// The time for which a process may set itself up: it mounts disks, which may be slow.
pub(super) const SET_UP_TIMEOUT: Duration = Duration::from_secs(60);

impl Containers {
    /// Makes a container. Returns the number of its first process.
    pub(super) async fn create(&self, request: CreateContainerRequest) -> Result<u32, Status> {
        self.admit()?;
        let plan = ContainerPlan::from_bytes(&request.plan).map_err(|error| invalid(&error))?;
        self.reserve(&plan.id)?;
        let containers = self.clone();
        finish(async move {
            let id = plan.id.clone();
            let made = containers.make(request, plan).await;
            if made.is_err() {
                containers.table().remove(&id);
            }
            made
        })
        .await
    }

    async fn make(
        &self,
        request: CreateContainerRequest,
        plan: ContainerPlan,
    ) -> Result<u32, Status> {
        let root = request.root.unwrap_or_default();
        let namespaces = shared_pids(&plan)?;
        let (control, inherited) = pair()?;
        let prepare = move || Ground::prepare(&plan, root).map(|prepared| (prepared, plan));
        let ((ground, own_mounts), plan) = blocking(prepare).await?;
        let kept = vec![inherited, own_mounts];
        let process = &plan.process;
        let launched = self.launch(ContainerProcess {
            words: words(&kept),
            namespaces,
            kept,
            pipes: process.terminal.is_none().then_some(Pipes {
                has_stdin: request.stdin,
                owner: process.uid,
            }),
        });
        let (mut process, ended) = match launched {
            Ok(launched) => launched,
            Err(status) => {
                remove(ground).await;
                return Err(status);
            }
        };
        let pid = process.pid;
        let oom_score = plan.process.oom_score_adj;
        let parts = [vec![request.plan.to_vec()], ground.root.to_parts()].concat();
        let set_up = blocking(move || {
            let outcome = set_up(&control, &ground, pid, oom_score, &parts);
            Ok((outcome, control, ground))
        });
        let (outcome, control, ground) = set_up.await?;
        let terminal = outcome.and_then(|terminal| {
            let terminal = terminal.map(|master| exec::take_terminal(&mut process, master));
            let terminal = terminal.transpose();
            terminal.map_err(|error| refused("watch the terminal", &error))
        });
        let kinds = namespace_kinds(&plan);
        let made = terminal.and_then(|terminal| {
            let namespaces = NamespacesOf::new(pid, kinds);
            let namespaces = namespaces.map_err(|error| refused("watch the process", &error));
            Ok((terminal.flatten(), namespaces?))
        });
        let (terminal, namespaces) = match made {
            Ok(made) => made,
            Err(status) => {
                drop(process);
                self.give_up(pid, ended).await;
                remove(ground).await;
                return Err(status);
            }
        };
        let (pass_on, passed) = oneshot::channel();
        let parts = Parts {
            id: plan.id,
            pid,
            group: ground.group,
            namespaces,
            plan: request.plan,
            upper: ground.upper,
            terminal,
            memory: ground.memory,
        };
        let waiting = Waiting {
            process,
            control,
            ended: passed,
        };
        Ok(self.keep(Container::new(parts, waiting), ended, pass_on))
    }

    /// Starts the agent's program as a process of a container. Nothing is awaited after its start.
    pub(super) fn launch(
        &self,
        process: ContainerProcess,
    ) -> Result<(Process, oneshot::Receiver<ExitStatus>), Status> {
        self.admit()?;
        let process = exec::start_in_container(process, &self.0.running).map_err(not_started)?;
        let ended = self.0.reaper.wait_for(process.pid);
        Ok((process, ended))
    }

    /// Kills a process that has not become its program, and waits for its end.
    pub(super) async fn give_up(&self, pid: i32, ended: oneshot::Receiver<ExitStatus>) {
        if self.0.reaper.has_child(pid) {
            exec::send_signal(pid, libc::SIGKILL);
        }
        let _ = ended.await;
    }

    /// Puts a container into the table, and waits for its end.
    fn keep(
        &self,
        container: Container,
        ended: oneshot::Receiver<ExitStatus>,
        pass_on: oneshot::Sender<ExitStatus>,
    ) -> u32 {
        let container = Arc::new(container);
        let (id, pid) = (container.id.clone(), container.pid());
        self.table().insert(id.clone(), Some(container.clone()));
        self.tell(&id, Event::Created(ContainerCreated { pid }));
        tokio::spawn(self.clone().attend(container, ended, pass_on));
        pid
    }

    /// Waits for the end of the first process, kills what is left of the container, and reports it.
    async fn attend(
        self,
        container: Arc<Container>,
        ended: oneshot::Receiver<ExitStatus>,
        pass_on: oneshot::Sender<ExitStatus>,
    ) {
        let status = ended.await.ok();
        // Those in a PID namespace of the pod do not end with the first one.
        let _ = container.group.kill();
        let killed = self.report_out_of_memory(&container);
        let exited = ContainerExited {
            exit_code: exit_code(status),
            out_of_memory: killed > 0,
        };
        container.note_exit(exited);
        self.tell(&container.id, Event::Exited(exited));
        if let Some(status) = status {
            // A container that was never started has no listener.
            let _ = pass_on.send(status);
        }
    }

    /// Reports processes that the kernel has killed because of the memory limit. Returns the number of all so far.
    pub(super) fn report_out_of_memory(&self, container: &Container) -> u64 {
        let (killed, all) = container.take_killed_for_memory();
        if killed > 0 {
            let event = Event::OutOfMemory(ContainerOutOfMemory { killed });
            self.tell(&container.id, event);
        }
        all
    }
}

/// Returns the agent's end and the process's end of a control socket.
pub(super) fn pair() -> Result<(UnixStream, OwnedFd), Status> {
    let pair = UnixStream::pair().and_then(|(near, far)| {
        near.set_read_timeout(Some(SET_UP_TIMEOUT))?;
        near.set_write_timeout(Some(SET_UP_TIMEOUT))?;
        Ok((near, far.into()))
    });
    pair.map_err(|error| refused("open a control socket", &error))
}

/// Returns the words of the agent's program as a process that inherits these descriptors.
pub(super) fn words(kept: &[OwnedFd]) -> Vec<String> {
    let numbers = kept.iter().map(|file| file.as_raw_fd().to_string());
    [PROGRAM_NAME.to_owned()]
        .into_iter()
        .chain(numbers)
        .collect()
}

/// Returns the PID namespace that the container shares; `None` for a new one.
fn shared_pids(plan: &ContainerPlan) -> Result<Option<NamespacesOf>, Status> {
    if plan.namespaces.pid() == NamespaceScope::Container {
        return Ok(None);
    }
    let shared = exec::shared_pids();
    let shared = shared.ok_or_else(|| {
        Status::failed_precondition("the sandbox has no PID namespace that a container can share")
    });
    shared.map(Some)
}

/// Returns the namespaces that a further process enters, beside that of process IDs.
fn namespace_kinds(plan: &ContainerPlan) -> ThreadNameSpaceType {
    let mut kinds = ThreadNameSpaceType::MOUNT | ThreadNameSpaceType::CONTROL_GROUP;
    if plan.namespaces.ipc() == NamespaceScope::Container {
        kinds |= ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION;
    }
    if plan.namespaces.uts() == NamespaceScope::Container {
        kinds |= ThreadNameSpaceType::HOST_NAME_AND_NIS_DOMAIN_NAME;
    }
    kinds
}

/// Has a process set itself up. Returns the terminal that it has opened.
fn set_up(
    control: &UnixStream,
    ground: &Ground,
    pid: i32,
    oom_score: Option<i32>,
    parts: &[Vec<u8>],
) -> Result<Option<OwnedFd>, Status> {
    join(&ground.group, pid, oom_score)?;
    let parts: Vec<_> = parts.iter().map(Vec::as_slice).collect();
    hear_ready(control, &parts)
}

/// Moves a process that is not in its container's group yet, and sets its score for the lack of memory.
pub(super) fn join(group: &Group, pid: i32, oom_score: Option<i32>) -> Result<(), Status> {
    rustix::io::write(group.processes(), pid.to_string().as_bytes())
        .map_err(|error| refused("move the process to its control group", &error))?;
    if let Some(score) = oom_score {
        std::fs::write(format!("/proc/{pid}/oom_score_adj"), score.to_string())
            .map_err(|error| refused("set oom_score_adj", &error))?;
    }
    Ok(())
}

/// Sends the parts, and waits until the process is ready. Returns the terminal that it has opened.
pub(super) fn hear_ready(control: &UnixStream, parts: &[&[u8]]) -> Result<Option<OwnedFd>, Status> {
    let sent = send_parts(control, parts);
    // A process that cannot hear all has said why.
    let answer = receive_answer(control);
    match answer {
        Ok(Answer::Ready(terminal)) => Ok(terminal),
        Ok(Answer::Failed(failure)) => Err(not_started(failure)),
        Ok(Answer::End) => Err(match sent {
            Ok(()) => Status::internal("the container's process was killed before it was ready"),
            Err(error) => refused("tell the container's process its plan", &error),
        }),
        Err(error) => Err(refused("hear the container's process", &error)),
    }
}

/// Removes what a container that was not made has left.
async fn remove(ground: Ground) {
    let _ = ground.group.kill();
    let removed = blocking(move || {
        delete::remove_group(&ground.group)?;
        drop(ground);
        Ok(())
    });
    if let Err(status) = removed.await {
        console::log(status.message());
    }
}
