//! The rollback of the writable disk while the machine stays up.
//!
//! The guest ends its processes and unmounts its disks. The disk is cut, and the client keeps that state;
//! then the disk gets the other one, and the guest mounts it. Each step has a limit by the host's clock. A
//! guest that does not do its part is shut down: the client boots it again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use generations::State;
use msb_agent_protocol::v1::{
    Mounted, RollBackEvent, RollBackInput, RollBackStart, StopFirst, roll_back_event,
    roll_back_input,
};
use msb_agent_protocol::{Client, ClientError, Code, Status, Streaming};
use msb_runtime::UNMOUNT_TIMEOUT;
use tokio::sync::{OwnedMutexGuard, mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;

use super::Supervisor;
use super::cut::status;
use super::main_command::MainCommand;
use crate::disk_cut::DiskOrders;
use crate::log::log_line;

/// The silence of the agent after which it is not waited for any more, as at a shutdown.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);
/// The time in which the guest mounts its disks.
const MOUNT_TIMEOUT: Duration = Duration::from_secs(20);
/// The time in which the client keeps the disk's state, which is a small file.
const KEEP_TIMEOUT: Duration = Duration::from_secs(60);
/// The time in which the main command starts again before the client hears of the end.
const START_TIMEOUT: Duration = Duration::from_secs(15);
/// The number of events of a call, all of which have room in its channel.
const EVENTS: usize = 3;

pub(super) type Events = ReceiverStream<Result<RollBackEvent, Status>>;

/// The rollbacks of a machine. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Rollbacks {
    stage: watch::Sender<Stage>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// The stage of the rollbacks, as the main command sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stage {
    /// The number of rollbacks that were begun.
    begun: u64,
    progress: Progress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// The guest has its disks mounted.
    Mounted,
    UnderWay,
    /// The guest cannot be used any more.
    Failed,
}

/// A rollback under way. Dropped, it has failed.
struct Rollback {
    rollbacks: Rollbacks,
    is_over: bool,
    _turn: OwnedMutexGuard<()>,
}

impl Rollbacks {
    pub(super) fn new() -> Self {
        Self {
            stage: watch::Sender::new(Stage {
                begun: 0,
                progress: Progress::Mounted,
            }),
            turn: Arc::default(),
        }
    }

    /// Returns the number of rollbacks that were begun.
    pub(super) fn begun(&self) -> u64 {
        self.stage.borrow().begun
    }

    /// Waits until none is under way. Returns false if the guest cannot be used any more.
    pub(super) async fn settled(&self) -> bool {
        let mut stage = self.stage.subscribe();
        let settled = stage.wait_for(|stage| stage.progress != Progress::UnderWay);
        // The sender lives as long as `self`.
        settled
            .await
            .is_ok_and(|stage| stage.progress == Progress::Mounted)
    }

    /// Begins one; `None` if another one is under way, or has failed.
    fn begin(&self) -> Option<Rollback> {
        let turn = Arc::clone(&self.turn).try_lock_owned().ok()?;
        if self.stage.borrow().progress == Progress::Failed {
            return None;
        }
        self.stage.send_modify(|stage| {
            stage.begun += 1;
            stage.progress = Progress::UnderWay;
        });
        Some(Rollback {
            rollbacks: self.clone(),
            is_over: false,
            _turn: turn,
        })
    }
}

impl Rollback {
    /// Notes that the guest can be used.
    fn end(mut self) {
        self.is_over = true;
    }

    /// Notes that nothing was done, and no process has ended.
    fn withdraw(self) {
        self.rollbacks.stage.send_modify(|stage| stage.begun -= 1);
        self.end();
    }
}

impl Drop for Rollback {
    fn drop(&mut self) {
        let progress = if self.is_over {
            Progress::Mounted
        } else {
            Progress::Failed
        };
        self.rollbacks
            .stage
            .send_modify(|stage| stage.progress = progress);
    }
}

/// The client that asked for a rollback. It may be gone.
struct RollBackClient {
    inputs: Streaming<RollBackInput>,
    events: mpsc::Sender<Result<RollBackEvent, Status>>,
}

impl Supervisor {
    /// Rolls the disk back, as the client's inputs say. The work goes on without the client.
    pub(super) fn roll_back(
        &self,
        start: RollBackStart,
        inputs: Streaming<RollBackInput>,
    ) -> Result<Events, Status> {
        let cuts = self.cuts()?.clone();
        if self.is_ending.load(Ordering::Relaxed) {
            return Err(Status::unavailable("the sandbox is shutting down"));
        }
        let rollback = self
            .rollbacks
            .begin()
            .ok_or_else(|| Status::failed_precondition("another rollback is under way"))?;
        let (sender, events) = mpsc::channel(EVENTS);
        let mut client = RollBackClient {
            inputs,
            events: sender,
        };
        let supervisor = self.clone();
        tokio::spawn(async move {
            let outcome = supervisor
                .attend_rollback(rollback, &cuts, start, &mut client)
                .await;
            let last = outcome.map(|()| event(roll_back_event::Event::Mounted(Mounted {})));
            // The client may be gone; otherwise there is room.
            let _ = client.events.try_send(last);
        });
        Ok(ReceiverStream::new(events))
    }

    async fn attend_rollback(
        &self,
        rollback: Rollback,
        cuts: &DiskOrders,
        start: RollBackStart,
        client: &mut RollBackClient,
    ) -> Result<(), Status> {
        let running = self.first.as_ref().and_then(MainCommand::exec_id);
        // A process that waits for an answer cannot be killed.
        self.questions.close();
        if let Err(status) = self.unmount(&start, running).await {
            if status.code() == Code::Unimplemented {
                // An agent of an older msb has done nothing.
                rollback.withdraw();
                self.questions.open();
            } else {
                self.give_up(rollback, &status);
            }
            return Err(status);
        }
        let replaced = replace(cuts, start.generations_max, client).await;
        if let Err(status) = mount(&self.agent).await {
            self.give_up(rollback, &status);
            return Err(status);
        }
        if let Err(error) = self.given.write(&self.agent).await {
            // The rest of the state that the disk was set to is there.
            log_line(&error.to_string());
        }
        if let Err(error) = self.pause.note(false) {
            log_line(&format!("cannot record the end of the pause: {error}"));
        }
        self.questions.open();
        rollback.end();
        if let Some((first, before)) = self.first.as_ref().zip(running) {
            // One that takes long is not waited for.
            let _ = timeout(START_TIMEOUT, first.follows(before)).await;
        }
        replaced
    }

    async fn unmount(&self, start: &RollBackStart, running: Option<u64>) -> Result<(), Status> {
        let grace = start.grace_ms.map(|ms| Duration::from_millis(ms.into()));
        let signal = self.stop_signal.number();
        let first = running.map(|exec_id| StopFirst { exec_id, signal });
        let limit = grace.unwrap_or_default().saturating_add(UNMOUNT_TIMEOUT);
        let mut agent = self.agent.clone();
        answered(&self.agent, limit, agent.unmount_root(grace, first)).await
    }

    /// Ends a machine whose guest cannot be used any more. The main command is not started again.
    fn give_up(&self, rollback: Rollback, status: &Status) {
        log_line(&format!(
            "the rollback ends the machine: {}",
            status.message()
        ));
        drop(rollback);
        let supervisor = self.clone();
        tokio::spawn(async move { supervisor.end(Some(Duration::ZERO), None).await });
    }
}

async fn mount(agent: &Client) -> Result<(), Status> {
    let mut asked = agent.clone();
    answered(agent, MOUNT_TIMEOUT, asked.mount_root()).await
}

/// Waits for the agent's answer, for at most `limit`, and no longer than it answers pings.
async fn answered(
    agent: &Client,
    limit: Duration,
    answer: impl Future<Output = Result<(), ClientError>>,
) -> Result<(), Status> {
    let heartbeat = agent.heartbeat();
    tokio::select! {
        biased;
        answer = answer => answer.map_err(|error| match error {
            ClientError::Unimplemented { .. } => {
                Status::unimplemented("the guest's agent is older than rollbacks of a running machine")
            }
            error => Status::failed_precondition(error.to_string()),
        }),
        () = heartbeat.silence(SILENCE_LIMIT) => {
            Err(Status::deadline_exceeded("the guest's agent is silent"))
        }
        () = sleep(limit) => Err(Status::deadline_exceeded(format!(
            "the guest needs more than {} s",
            limit.as_secs()
        ))),
    }
}

/// Tells the client the state of the disk, which nobody uses, and sets the disk to the state that the
/// client sends. Without one the disk stays as it is.
async fn replace(
    cuts: &DiskOrders,
    generations_max: u32,
    client: &mut RollBackClient,
) -> Result<(), Status> {
    let mut cutting = cuts.begin(usize::try_from(generations_max).unwrap_or(usize::MAX));
    let before = cutting.state().await.map_err(status)?;
    cutting.durable().await.map_err(status)?;
    let unmounted = roll_back_event::Event::Unmounted(before.to_bytes().into());
    // The end of the inputs tells if the client is gone; otherwise there is room.
    let _ = client.events.try_send(Ok(event(unmounted)));
    let input = timeout(KEEP_TIMEOUT, client.inputs.message()).await;
    let input = input.map_err(|_| Status::deadline_exceeded("the client did not continue"))??;
    let Some(roll_back_input::Input::Replace(state)) = input.and_then(|input| input.input) else {
        // The client has changed its mind, or is gone.
        return Ok(());
    };
    let state = State::from_bytes(&state);
    let state = state.map_err(|fault| Status::invalid_argument(fault.to_string()))?;
    cuts.roll_back(state).await.map_err(status)
}

fn event(event: roll_back_event::Event) -> RollBackEvent {
    RollBackEvent { event: Some(event) }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_does_not_answer_is_not_waited_for() {
        let (host, _guest) = tokio::io::duplex(1 << 16);
        let agent = Client::connect_without_limit(host).await;
        let agent = agent.expect("connected");
        let began = Instant::now();
        let status = mount(&agent).await.expect_err("no answer");
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(began.elapsed() < SILENCE_LIMIT * 2);
    }

    #[tokio::test]
    async fn the_main_command_waits_for_the_end_of_a_rollback() {
        let rollbacks = Rollbacks::new();
        let first = rollbacks.begin().expect("none is under way");
        assert!(rollbacks.begin().is_none(), "two at once");
        let waiting = tokio::spawn({
            let rollbacks = rollbacks.clone();
            async move { rollbacks.settled().await }
        });
        first.end();
        assert!(waiting.await.expect("no panic"));
        assert_eq!(rollbacks.begun(), 1);
        rollbacks.begin().expect("none is under way").withdraw();
        assert_eq!(rollbacks.begun(), 1);
        drop(rollbacks.begin().expect("none is under way"));
        assert!(!rollbacks.settled().await, "the guest cannot be used");
        assert!(rollbacks.begin().is_none());
    }
}
