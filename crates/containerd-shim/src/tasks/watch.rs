//! The ends of processes, containers and the machine.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Tasks;
use super::entry::Entry;
use super::phase::Phase;
use super::process::{KILLED, Process};
use crate::{Exit, Pod};

/// The time for the ends of a container's further processes after the end of its main process, which kills them.
const EXECS_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for ends that the machine reported before its own end.
const LAST_EXITS_TIMEOUT: Duration = Duration::from_secs(1);

impl<P: Pod> Tasks<P> {
    /// Records the end of a process when it comes. A container ends after its further processes.
    pub(super) fn watch_process(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        process: &Arc<Process>,
        exit: Pin<Box<dyn Future<Output = Exit> + Send>>,
    ) {
        let (tasks, entry, process) = (Arc::clone(self), Arc::clone(entry), Arc::clone(process));
        tokio::spawn(async move {
            tokio::select! {
                biased;
                exit = exit => {
                    if process.name.exec_id.is_none() {
                        tasks.end_execs(&entry, EXECS_TIMEOUT).await;
                    }
                    process.finish(exit, tasks.pid());
                }
                // The machine has ended.
                _ = process.ended() => {}
            }
            // Clients wait for the end of the FIFOs before they delete the process.
            process.copies.drain().await;
        });
    }

    /// Ends all processes when the machine ends.
    pub(super) fn watch_machine(self: &Arc<Self>) {
        let tasks = Arc::clone(self);
        tokio::spawn(async move {
            tasks.machine.ended().await;
            tasks.is_machine_over.store(true, Ordering::SeqCst);
            let entries = tasks.registry.all();
            let processes = entries.iter().filter(|entry| !entry.container.is_sandbox);
            let last_exits = async {
                for entry in processes {
                    ended_if_running(&entry.main).await;
                }
            };
            // The others end below.
            let _ = tokio::time::timeout(LAST_EXITS_TIMEOUT, last_exits).await;
            // The registry is read again: a container can have been created meanwhile.
            for entry in tasks.registry.all() {
                tasks.end_execs(&entry, Duration::ZERO).await;
                let mut exit = KILLED;
                if entry.container.is_sandbox {
                    exit.status = tasks.sandbox_status.load(Ordering::SeqCst);
                }
                entry.main.finish(exit, tasks.pid());
            }
        });
    }

    /// Lets no further process be added to a container, and ends those that it has: by themselves if they end in time.
    pub(super) async fn end_execs(&self, entry: &Entry, limit: Duration) {
        entry.close();
        let execs = entry.all_execs();
        let ended = async {
            for exec in &execs {
                ended_if_running(exec).await;
            }
        };
        // The others end below.
        let _ = tokio::time::timeout(limit, ended).await;
        for exec in execs {
            exec.finish(KILLED, self.pid());
        }
    }
}

async fn ended_if_running(process: &Process) {
    if process.phase() == Phase::Running {
        // It has no other outcome.
        let _ = process.ended().await;
    }
}
