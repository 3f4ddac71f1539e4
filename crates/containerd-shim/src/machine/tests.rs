use std::future::pending;

use containerd_protocol::metrics::Metrics;
use tokio::time::Instant;

use super::*;
use crate::{Container, Exec, ProcessName, Running, TerminalSize};

/// A machine that answers nothing, and ends if it is told to.
struct Hung(watch::Sender<bool>);

impl Pod for Hung {
    async fn boot(&self, _first: &Container) -> Result<(), PodError> {
        pending().await
    }

    fn vmm_pid(&self) -> u32 {
        0
    }

    async fn ended(&self) {
        let _ = self.0.subscribe().wait_for(|is_over| *is_over).await;
    }

    async fn create(&self, _container: &Container) -> Result<(), PodError> {
        pending().await
    }

    async fn start(&self, _container: &Container) -> Result<Running, PodError> {
        pending().await
    }

    async fn exec(&self, _exec: &Exec) -> Result<Running, PodError> {
        pending().await
    }

    async fn signal(
        &self,
        _process: &ProcessName,
        _signal: u32,
        _all: bool,
    ) -> Result<(), PodError> {
        pending().await
    }

    async fn resize(&self, _process: &ProcessName, _size: TerminalSize) -> Result<(), PodError> {
        pending().await
    }

    async fn delete(&self, _container_id: &str) -> Result<(), PodError> {
        pending().await
    }

    async fn stats(&self, _container_id: &str) -> Result<Metrics, PodError> {
        pending().await
    }

    async fn update(&self, _container_id: &str, _resources: &[u8]) -> Result<(), PodError> {
        pending().await
    }

    async fn pause(&self, _container_id: &str) -> Result<(), PodError> {
        pending().await
    }

    async fn resume(&self, _container_id: &str) -> Result<(), PodError> {
        pending().await
    }

    async fn shut_down(&self) {
        pending().await
    }
}

fn hung() -> Machine<Hung> {
    Machine::new(Hung(watch::Sender::new(false)))
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_answered_ends_with_its_limit() {
    let machine = hung();
    let begun = Instant::now();
    let stats = machine.call(CALL_TIMEOUT, machine.pod().stats("a")).await;
    assert!(matches!(stats, Err(PodError::TimedOut(CALL_TIMEOUT))));
    let removed = machine.remove("a").await;
    assert!(matches!(removed, Err(PodError::TimedOut(CALL_TIMEOUT))));
    assert!(begun.elapsed() < 3 * CALL_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_with_the_machine() {
    let machine = hung();
    let call = machine.call(START_TIMEOUT, machine.pod().stats("a"));
    let (stats, _) = tokio::join!(call, async { machine.pod().0.send_replace(true) });
    assert!(matches!(stats, Err(PodError::Ended)));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_does_not_shut_down_counts_as_ended() {
    let machine = hung();
    machine.shut_down().await;
    machine.ended().await;
    let stats = machine.call(CALL_TIMEOUT, machine.pod().stats("a")).await;
    assert!(matches!(stats, Err(PodError::Ended)));
}
