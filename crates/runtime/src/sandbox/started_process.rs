use std::io;
use std::process::ExitStatus;

use tokio::process::Child;

/// A VMM process, seen by the process that started it.
/// Dropping this kills the process until the guest is up; afterwards the process runs on.
#[derive(Debug)]
pub(super) struct StartedProcess {
    child: Child,
    is_up: bool,
}

impl StartedProcess {
    /// Wraps a process that has just been started.
    pub(super) const fn starting(child: Child) -> Self {
        Self {
            child,
            is_up: false,
        }
    }

    /// Marks the guest as up.
    pub(super) const fn up(mut self) -> Self {
        self.is_up = true;
        self
    }

    /// Waits until the process ends.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Kills the process if it has not ended, and waits for it.
    pub(super) async fn kill(&mut self) -> io::Result<()> {
        self.child.kill().await
    }
}

impl Drop for StartedProcess {
    fn drop(&mut self) {
        if !self.is_up {
            // The process may have ended by itself.
            let _ = self.child.start_kill();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::process::{Pid, test_kill_process};
    use tokio::process::Command;

    use super::*;

    /// Starts a program that runs for 600 s. Returns its process id too.
    fn sleeping() -> (StartedProcess, Pid) {
        let child = Command::new("sleep").arg("600").spawn().expect("started");
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let pid = pid.and_then(Pid::from_raw).expect("it runs");
        (StartedProcess::starting(child), pid)
    }

    async fn ends(pid: Pid) -> bool {
        for _ in 0..6000 {
            // Tokio reaps the dropped process in the background.
            if test_kill_process(pid).is_err() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }

    #[tokio::test]
    async fn a_machine_whose_start_is_broken_off_goes() {
        let (process, pid) = sleeping();
        drop(process);
        assert!(ends(pid).await, "it goes on");
    }

    #[tokio::test]
    async fn a_machine_that_is_up_goes_on() {
        let (process, pid) = sleeping();
        drop(process.up());
        tokio::time::sleep(Duration::from_millis(100)).await;
        test_kill_process(pid).expect("it goes on");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("ended");
    }
}
