//! The machine of a pod, whose every call ends: with an answer, after a time limit, or with the machine.

use std::time::Duration;

use tokio::sync::watch;

use crate::{Pod, PodError};

/// The time for booting the machine or creating a container. containerd's CRI waits up to 240 s.
pub(crate) const CREATE_TIMEOUT: Duration = Duration::from_secs(180);
/// The time for starting a process.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The time for all other calls.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The machine of a pod.
pub(crate) struct Machine<P> {
    pod: P,
    /// True once the machine counts as ended, even if it does not say so.
    is_given_up: watch::Sender<bool>,
}

impl<P: Pod> Machine<P> {
    pub(crate) fn new(pod: P) -> Self {
        Self {
            pod,
            is_given_up: watch::Sender::new(false),
        }
    }

    pub(crate) fn pod(&self) -> &P {
        &self.pod
    }

    /// Waits until the machine has ended.
    pub(crate) async fn ended(&self) {
        let mut is_given_up = self.is_given_up.subscribe();
        tokio::select! {
            () = self.pod.ended() => {}
            // The sender lives as long as this call.
            _ = is_given_up.wait_for(|is_given_up| *is_given_up) => {}
        }
    }

    /// Returns the answer of a call, unless the machine has ended, ends or takes too long.
    pub(crate) async fn call<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, PodError>>,
    ) -> Result<T, PodError> {
        tokio::select! {
            biased;
            () = self.ended() => Err(PodError::Ended),
            answer = call => answer,
            () = tokio::time::sleep(limit) => Err(PodError::TimedOut(limit)),
        }
    }

    /// Removes a container, also from a machine that has ended, which can leave files on the host.
    pub(crate) async fn remove(&self, container_id: &str) -> Result<(), PodError> {
        let removed = self.pod.delete(container_id);
        match tokio::time::timeout(CALL_TIMEOUT, removed).await {
            Ok(Err(PodError::Ended | PodError::NotFound(_))) => Ok(()),
            Ok(removed) => removed,
            Err(_) => Err(PodError::TimedOut(CALL_TIMEOUT)),
        }
    }

    /// Ends the machine. It counts as ended afterwards, even if it did not end in time.
    pub(crate) async fn shut_down(&self) {
        // A machine that is late is killed by the command `delete`, and with the shim.
        let _ = tokio::time::timeout(CALL_TIMEOUT, self.pod.shut_down()).await;
        self.is_given_up.send_replace(true);
    }
}

#[cfg(test)]
mod tests;
