//! The Task service, in its versions 2 and 3: requests become calls on the tasks.

use std::sync::Arc;

use containerd_protocol::task::{
    CloseIoRequest, ConnectRequest, ConnectResponse, CreateTaskRequest, CreateTaskResponse,
    DeleteRequest, DeleteResponse, ExecProcessRequest, KillRequest, PauseRequest, PidsRequest,
    PidsResponse, ProcessInfo, ResizePtyRequest, ResumeRequest, SERVICE_V2, SERVICE_V3,
    ShutdownRequest, StartRequest, StartResponse, StateRequest, StatsRequest, StatsResponse,
    UpdateTaskRequest, WaitRequest, WaitResponse,
};
use containerd_protocol::{Any, Empty, Message};
use ttrpc::{Call, Service, Status};

use crate::tasks::{TaskError, Tasks};
use crate::{Pod, ProcessName, TerminalSize};

/// The Task service of a shim.
pub(crate) struct TaskService<P>(pub(crate) Arc<Tasks<P>>);

impl<P: Pod> Service for TaskService<P> {
    async fn call(&self, call: Call) -> Result<Vec<u8>, Status> {
        if call.service != SERVICE_V2 && call.service != SERVICE_V3 {
            return Err(call.unimplemented());
        }
        match call.method.as_str() {
            "Create" | "Exec" | "Start" | "Delete" | "Kill" | "Wait" => self.change(&call).await,
            "State" | "Pids" | "Stats" | "Connect" => self.query(&call).await,
            "ResizePty" | "CloseIO" | "Update" | "Pause" | "Resume" | "Shutdown" => {
                self.control(&call).await
            }
            _ => Err(call.unimplemented()),
        }
    }
}

impl<P: Pod> TaskService<P> {
    /// Answers the calls that change the state of a process, and the one that waits for its end.
    async fn change(&self, call: &Call) -> Result<Vec<u8>, Status> {
        let tasks = &self.0;
        match call.method.as_str() {
            "Create" => {
                let request: CreateTaskRequest = call.decode()?;
                let pid = tasks.create(request).await?;
                encode(&CreateTaskResponse { pid })
            }
            "Exec" => {
                let request: ExecProcessRequest = call.decode()?;
                done(tasks.exec(request))
            }
            "Start" => {
                let request: StartRequest = call.decode()?;
                let name = ProcessName::new(&request.id, &request.exec_id);
                let pid = tasks.start(&name).await?;
                encode(&StartResponse { pid })
            }
            "Delete" => {
                let request: DeleteRequest = call.decode()?;
                let name = ProcessName::new(&request.id, &request.exec_id);
                let pid = tasks.container_pid(&request.id)?;
                let end = tasks.delete(&name).await?;
                encode(&DeleteResponse {
                    pid,
                    exit_status: end.status,
                    exited_at: Some(end.at),
                })
            }
            "Kill" => {
                let request: KillRequest = call.decode()?;
                let name = ProcessName::new(&request.id, &request.exec_id);
                done(tasks.kill(&name, request.signal, request.all).await)
            }
            _ => {
                let request: WaitRequest = call.decode()?;
                let name = ProcessName::new(&request.id, &request.exec_id);
                let end = tasks.wait(&name).await?;
                encode(&WaitResponse {
                    exit_status: end.status,
                    exited_at: Some(end.at),
                })
            }
        }
    }

    /// Answers the calls that read a state.
    async fn query(&self, call: &Call) -> Result<Vec<u8>, Status> {
        let tasks = &self.0;
        match call.method.as_str() {
            "State" => {
                let request: StateRequest = call.decode()?;
                let name = ProcessName::new(&request.id, &request.exec_id);
                encode(&tasks.state(&name)?)
            }
            "Pids" => {
                let request: PidsRequest = call.decode()?;
                let pid = tasks.container_pid(&request.id)?;
                let processes = vec![ProcessInfo { pid, info: None }];
                encode(&PidsResponse { processes })
            }
            "Stats" => {
                let request: StatsRequest = call.decode()?;
                let metrics = tasks.stats(&request.id).await?;
                let stats = Some(Any::pack(&metrics));
                encode(&StatsResponse { stats })
            }
            _ => {
                let request: ConnectRequest = call.decode()?;
                encode(&ConnectResponse {
                    shim_pid: std::process::id(),
                    // A container that does not exist is no error here: containerd looks at a shim that it found.
                    task_pid: tasks.container_pid(&request.id).unwrap_or_default(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                })
            }
        }
    }

    /// Answers the calls that pass a setting on.
    async fn control(&self, call: &Call) -> Result<Vec<u8>, Status> {
        let tasks = &self.0;
        match call.method.as_str() {
            "ResizePty" => {
                let request: ResizePtyRequest = call.decode()?;
                let name = ProcessName::new(&request.id, &request.exec_id);
                let size = TerminalSize {
                    width: request.width,
                    height: request.height,
                };
                done(tasks.resize(&name, size).await)
            }
            "CloseIO" => {
                let request: CloseIoRequest = call.decode()?;
                let name = ProcessName::new(&request.id, &request.exec_id);
                done(tasks.close_stdin(&name))
            }
            "Update" => {
                let request: UpdateTaskRequest = call.decode()?;
                let resources = request.resources.unwrap_or_default();
                done(tasks.update(&request.id, &resources.value).await)
            }
            "Pause" => {
                let request: PauseRequest = call.decode()?;
                done(tasks.pause(&request.id).await)
            }
            "Resume" => {
                let request: ResumeRequest = call.decode()?;
                done(tasks.resume(&request.id).await)
            }
            _ => {
                let request: ShutdownRequest = call.decode()?;
                tasks.request_shutdown(request.now);
                done(Ok(()))
            }
        }
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "it is the last expression of a fallible answer"
)]
fn encode(answer: &impl Message) -> Result<Vec<u8>, Status> {
    Ok(answer.encode_to_vec())
}

fn done(outcome: Result<(), TaskError>) -> Result<Vec<u8>, Status> {
    outcome?;
    encode(&Empty {})
}
