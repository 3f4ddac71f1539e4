use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use msb_agent_protocol::ExitStatus;
use rustix::process::{WaitOptions, WaitStatus, wait};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// Reaps every child of PID 1 and tells how those that somebody waits for have ended.
///
/// All of the agent runs on one thread, and nothing is awaited between a spawn and
/// [`Reaper::wait_for`], so no end is missed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reaper {
    waiting: Rc<RefCell<HashMap<i32, oneshot::Sender<ExitStatus>>>>,
}

impl Reaper {
    pub(crate) fn start() -> io::Result<Self> {
        let reaper = Self::default();
        let ended = signal(SignalKind::child())?;
        tokio::task::spawn_local(reaper.clone().reap(ended));
        Ok(reaper)
    }

    /// How the child `pid` will have ended.
    pub(crate) fn wait_for(&self, pid: i32) -> oneshot::Receiver<ExitStatus> {
        let (sender, receiver) = oneshot::channel();
        self.waiting.borrow_mut().insert(pid, sender);
        receiver
    }

    async fn reap(self, mut ended: Signal) {
        while ended.recv().await.is_some() {
            while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
                let waiting = self
                    .waiting
                    .borrow_mut()
                    .remove(&pid.as_raw_nonzero().get());
                if let (Some(sender), Some(status)) = (waiting, exit_status(status)) {
                    // Who waited may have gone.
                    let _ = sender.send(status);
                }
            }
        }
    }
}

fn exit_status(status: WaitStatus) -> Option<ExitStatus> {
    let small = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Some(ExitStatus::Code(small(code))),
        (_, Some(signal)) => Some(ExitStatus::Signal(small(signal))),
        _ => None,
    }
}
