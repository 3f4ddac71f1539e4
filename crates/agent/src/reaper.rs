use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msb_agent_protocol::v1::ExitStatus;
use msb_agent_protocol::v1::exit_status::Status;
use rustix::process::{WaitOptions, WaitStatus, wait};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::exec;

type Waiting = HashMap<i32, oneshot::Sender<ExitStatus>>;

/// Reaps every child of PID 1 and delivers the exit status of each that is waited for.
///
/// All of the agent runs on one thread, and nothing is awaited between a spawn and
/// [`Reaper::wait_for`], so no exit is missed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reaper {
    waiting: Arc<Mutex<Waiting>>,
}

impl Reaper {
    pub(crate) fn start() -> io::Result<Self> {
        let reaper = Self::default();
        let ended = signal(SignalKind::child())?;
        tokio::spawn(reaper.clone().reap(ended));
        Ok(reaper)
    }

    /// Returns the future exit status of the child `pid`.
    pub(crate) fn wait_for(&self, pid: i32) -> oneshot::Receiver<ExitStatus> {
        let (sender, receiver) = oneshot::channel();
        self.waiting().insert(pid, sender);
        receiver
    }

    /// Returns true if the child `pid` is waited for and has not been reaped, so that the number is its own.
    pub(crate) fn has_child(&self, pid: i32) -> bool {
        self.waiting().contains_key(&pid)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn reap(self, mut ended: Signal) {
        while ended.recv().await.is_some() {
            while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
                let pid = pid.as_raw_nonzero().get();
                exec::note_end(pid);
                let waiting = self.waiting().remove(&pid);
                if let (Some(sender), Some(status)) = (waiting, exit_status(status)) {
                    // The receiver may have been dropped.
                    let _ = sender.send(status);
                }
            }
            exec::remove_empty_groups();
        }
    }
}

fn exit_status(status: WaitStatus) -> Option<ExitStatus> {
    let number = |number: i32| number.unsigned_abs();
    let status = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Status::Code(number(code)),
        (_, Some(signal)) => Status::Signal(number(signal)),
        _ => return None,
    };
    Some(ExitStatus {
        status: Some(status),
        ..ExitStatus::default()
    })
}
