//! The pause of the guest's processes, and the record by which other clients see it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fs_err as fs;
use msb_agent_protocol::Status;
use msb_agent_protocol::v1::{PauseRequest, UnpauseRequest};
use tokio::sync::{Mutex, watch};

use super::Supervisor;
use super::call_timeout::answered;
use crate::log::log_line;

/// The pause of a sandbox. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Pause {
    is_paused: watch::Sender<bool>,
    /// Held while a client's call pauses or continues the guest; others wait for it.
    turn: Arc<Mutex<()>>,
    /// The file that exists during the pause.
    record: PathBuf,
}

impl Pause {
    pub(super) fn new(record: PathBuf) -> Self {
        Self {
            is_paused: watch::Sender::new(false),
            turn: Arc::default(),
            record,
        }
    }

    pub(super) fn is_paused(&self) -> bool {
        *self.is_paused.borrow()
    }

    /// Waits until the guest is not paused.
    pub(super) async fn ended(&self) {
        // The sender lives as long as `self`.
        let _ = self.is_paused.subscribe().wait_for(|&paused| !paused).await;
    }

    pub(super) fn note(&self, is_paused: bool) -> io::Result<()> {
        if is_paused {
            durable_files::create(&self.record)?;
        } else {
            match fs::remove_file(&self.record) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.is_paused.send_replace(is_paused);
        Ok(())
    }
}

impl Supervisor {
    /// Has the guest pause or continue its processes. Returns true if it was paused before.
    pub(super) async fn set_paused(&self, is_paused: bool) -> Result<bool, Status> {
        if self.is_ending.load(Ordering::Relaxed) {
            return Err(Status::unavailable("the sandbox is shutting down"));
        }
        let supervisor = self.clone();
        // The record follows the guest even if the client disconnects.
        let set = tokio::spawn(async move {
            let _turn = supervisor.pause.turn.lock().await;
            if is_paused {
                // A process that waits for an answer cannot be paused.
                supervisor.questions.close();
            }
            let set = supervisor.set_and_record(is_paused).await;
            let is_ending = supervisor.is_ending.load(Ordering::Relaxed);
            if !supervisor.pause.is_paused() && !is_ending {
                supervisor.questions.open();
            }
            set
        });
        set.await
            .unwrap_or_else(|_| Err(Status::internal("the sandbox's process failed")))
    }

    /// Has the guest do it, and records it. Returns true if it was paused before.
    async fn set_and_record(&self, is_paused: bool) -> Result<bool, Status> {
        let was_paused = self.ask(is_paused).await?;
        self.record(is_paused).await?;
        Ok(was_paused)
    }

    /// Asks the guest. Returns true if it was paused before.
    async fn ask(&self, is_paused: bool) -> Result<bool, Status> {
        let mut agent = self.agent.raw();
        let heartbeat = self.agent.heartbeat();
        let was_paused = if is_paused {
            let reply = answered(heartbeat, agent.pause(PauseRequest {})).await;
            reply.map(|reply| reply.into_inner().was_paused)
        } else {
            let reply = answered(heartbeat, agent.unpause(UnpauseRequest {})).await;
            reply.map(|reply| reply.into_inner().was_paused)
        };
        was_paused.map_err(|status| Status::new(status.code(), status.message()))
    }

    /// Records what the guest has done. A pause that cannot be recorded is ended.
    async fn record(&self, is_paused: bool) -> Result<(), Status> {
        let Err(error) = self.pause.note(is_paused) else {
            return Ok(());
        };
        log_line(&format!("cannot record the pause: {error}"));
        if is_paused {
            self.ask(false).await?;
        }
        Err(Status::failed_precondition(format!(
            "cannot record the pause: {error}"
        )))
    }
}
