use std::io;
use std::time::Duration;

use durable_files::now_s;
use fs_err as fs;
use msb_agent_protocol::ClientError;
use msb_agent_protocol::v1::{Attach, StopFirst};
use msb_machine_records::Exit;
use tokio::time::{sleep, timeout};

use super::connect::ConnectError;
use super::machine_process::MachineProcess;
use super::{Lock, Sandbox};
use crate::StopSignal;

/// The timeout for unmounting and powering off, beyond the time that the guest's processes have.
pub const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(20);
/// The timeout of `stop`, beyond the time that the guest's processes have. It is longer than that of
/// the VMM process, which ends a guest that does not shut down: only a VMM process that does not
/// answer is killed from outside.
const STOP_TIMEOUT: Duration = UNMOUNT_TIMEOUT.saturating_add(Duration::from_secs(5));
/// The timeout for the host's kernel to end a killed process, which takes over 5 s on a very busy host.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);
/// The shortest and the longest interval in which the lock is looked at while no VMM process can be
/// watched. The interval doubles each time.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const POLL_MAX_INTERVAL: Duration = Duration::from_millis(500);
/// The interval in which the lock is looked at once the VMM process has ended.
const RELEASE_INTERVAL: Duration = Duration::from_millis(2);
/// The interval in which the lock is looked at while the VMM process is watched: the lock decides,
/// and a process that was taken over may have let it go.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

impl Sandbox {
    /// Asks the guest to end its processes, sync and power off; kills the machine if it does not.
    /// Returns true if it ended cleanly. The main command gets `signal`, or the one that the
    /// sandbox was created with.
    ///
    /// # Errors
    /// If the sandbox does not run, or cannot be killed.
    pub async fn stop(
        &self,
        grace: Duration,
        signal: Option<StopSignal>,
    ) -> Result<bool, ConnectError> {
        self.expect_running()?;
        let first = signal.map(|signal| StopFirst {
            // The supervisor fills in the number of the main command.
            exec_id: 0,
            signal: signal.number(),
        });
        let asked = async {
            // The guest may be silent, so nothing else is asked of it before.
            let mut supervisor = self.connect_supervisor().await?;
            Ok::<_, ConnectError>(supervisor.shutdown(Some(grace), first).await)
        };
        let limit = grace.saturating_add(STOP_TIMEOUT);
        let asked = timeout(limit, asked).await;
        // The answer proves nothing: the machine may have ended meanwhile.
        if let Ok(Ok(answer)) = asked
            && self.ends_within(UNMOUNT_TIMEOUT).await?
        {
            let was_killed = matches!(answer, Err(ClientError::Silent { .. }));
            return Ok(!was_killed);
        }
        match self.kill().await {
            Ok(()) => Ok(false),
            Err(ConnectError::NotRunning { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Sends a signal to the process group of the main command.
    ///
    /// # Errors
    /// If the main command does not run, or the guest's agent does not answer.
    pub async fn signal(&self, signal: StopSignal) -> Result<(), ConnectError> {
        let agent_error = |source| self.agent_error(source);
        let mut client = self.connect().await?;
        let attached = client.attach(Attach { stdin: false }).await;
        let mut command = attached.map_err(agent_error)?;
        let sent = command.control.signal(signal.number()).await;
        sent.map_err(agent_error)
    }

    /// Ends the machine as a power cut would. Data that the guest had synced is kept.
    ///
    /// # Errors
    /// If the sandbox does not run, or its VMM process cannot be killed.
    pub async fn kill(&self) -> Result<(), ConnectError> {
        let machine = self.machine_process()?;
        machine.kill().map_err(|source| self.io_error(source))?;
        if self.ends_within(KILL_TIMEOUT).await? {
            // The kill succeeded even if its record cannot be written; the condition implies it
            // anyway.
            let _ = self.note_kill();
            return Ok(());
        }
        Err(ConnectError::Immortal {
            name: self.spec.name.clone(),
        })
    }

    /// Records the kill, because the killed VMM process cannot record the main command's exit.
    /// A sandbox that is removed when it stops needs no record: the process that waits for its end
    /// removes it now.
    fn note_kill(&self) -> io::Result<()> {
        if self.spec.remove_when_stopped {
            return Ok(());
        }
        let is_noted = || fs::exists(self.files.exit());
        match Lock::take_existing(&self.files) {
            Ok(Some(_lock)) if !is_noted()? => {
                Exit::killed(Some(now_s())).write(&self.files.exit())
            }
            // Another process has removed the sandbox if the lock is not found.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until the sandbox does not run.
    ///
    /// # Errors
    /// If the sandbox's lock cannot be opened.
    pub async fn wait(&self) -> Result<(), ConnectError> {
        let mut pause = POLL_INTERVAL;
        while self.is_running()? {
            if self.machine_ended().await {
                pause = POLL_INTERVAL;
                continue;
            }
            // The machine is not started yet, or its lock is about to go.
            sleep(pause).await;
            pause = (pause * 2).min(POLL_MAX_INTERVAL);
        }
        Ok(())
    }

    /// Waits until the lock is free after the VMM process has ended: QEMU is a separate process, which
    /// may take a moment to die and holds the lock until then. Also returns if the sandbox has been
    /// started again.
    pub(super) async fn wait_for_release(&self) -> io::Result<()> {
        let free = async {
            while Lock::is_held(&self.files)? && MachineProcess::find(&self.files)?.is_none() {
                sleep(RELEASE_INTERVAL).await;
            }
            Ok(())
        };
        // A process that the host's kernel cannot end is shown as running.
        timeout(KILL_TIMEOUT, free).await.unwrap_or(Ok(()))
    }

    /// Waits until the VMM process has ended, at most for `LOOK_INTERVAL`. Returns false at once if
    /// there is no such process, or it cannot be watched from here.
    async fn machine_ended(&self) -> bool {
        let Ok(Some(process)) = MachineProcess::find(&self.files) else {
            return false;
        };
        match timeout(LOOK_INTERVAL, process.ended()).await {
            Ok(ended) => ended.is_ok(),
            Err(_) => true,
        }
    }

    async fn ends_within(&self, limit: Duration) -> Result<bool, ConnectError> {
        let ended = timeout(limit, self.wait()).await;
        ended.map_or(Ok(false), |ended| ended.map(|()| true))
    }
}
