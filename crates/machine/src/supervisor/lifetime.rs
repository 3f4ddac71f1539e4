use std::io;
use std::time::Duration;

use msb_agent_protocol::v1::exec_event::Event;
use msb_agent_protocol::{Client, Command};
use msb_machine_records::{EndReason, Exit, LogWriter};
use msb_runtime::{Lifetime, SandboxPaths, SupervisorConfig};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use super::Supervisor;
use super::main_command::{End, EndEvent, MainCommand};
use crate::log::log_line;

/// The timeout for the client that is to attach before the main command starts.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(30);
/// The time that a guest may take to come up, beyond the longest time that its sandbox may run. Who
/// starts a sandbox waits less, and ends its machine; this bound is for a machine whose starter died.
const BOOT_TIMEOUT: Duration = Duration::from_secs(600);
/// The time for processes to end by themselves when a limit ends the sandbox.
const GRACE: Duration = Duration::from_secs(10);
/// The shortest and the longest pause before a restart.
/// The pause doubles each time, and is the shortest again after a run longer than `SETTLED`.
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(60);
const SETTLED: Duration = Duration::from_secs(10);

/// Connects to the agent, once the guest is up. The limit of a sandbox's time counts from then on; a
/// guest that does not come up has `BOOT_TIMEOUT` more, and its end is then recorded.
pub(super) async fn greeted(
    port: UnixStream,
    files: &SandboxPaths,
    lifetime: Lifetime,
) -> io::Result<Client> {
    let limit = lifetime.max_duration_s.map(Duration::from_secs);
    let limit = limit.map_or(Duration::MAX, |limit| limit.saturating_add(BOOT_TIMEOUT));
    let greeted = timeout(limit, Client::connect_port(port));
    let Ok(agent) = greeted.await else {
        let exit = Exit::from_status(EndReason::MaxDuration.status());
        exit.write(&files.exit())?;
        return Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the guest did not boot within the sandbox's time limit (--max-duration)",
        ));
    };
    agent.map_err(io::Error::other)
}

/// Starts the main command and the limits.
/// If the command does not wait for a client, it has started or failed to start when this returns.
pub(super) async fn begin(
    supervisor: &Supervisor,
    files: &SandboxPaths,
    config: SupervisorConfig,
) -> io::Result<()> {
    limit_duration(supervisor, config.lifetime);
    limit_idleness(supervisor, config.lifetime);
    end_with_owners(supervisor);
    let Some(first) = supervisor.first.clone() else {
        supervisor.mark_up();
        return Ok(());
    };
    let life = MainCommandLife {
        supervisor: supervisor.clone(),
        log: Ok(LogWriter::create(&files.output_log())?),
        files: files.clone(),
        first,
        config,
    };
    if life.config.attached {
        tokio::spawn(async move {
            // The command runs even if that client is gone.
            let _ = timeout(ATTACH_TIMEOUT, life.first.attached.seen()).await;
            let started = life.start().await;
            life.live(started).await;
        });
    } else {
        let started = life.start().await;
        tokio::spawn(life.live(started));
    }
    Ok(())
}

/// The main command, from its first start to the sandbox's end.
struct MainCommandLife {
    supervisor: Supervisor,
    first: MainCommand,
    log: io::Result<LogWriter>,
    files: SandboxPaths,
    config: SupervisorConfig,
}

impl MainCommandLife {
    async fn start(&self) -> Result<Command, End> {
        let exec = self
            .config
            .process
            .main_exec(&self.config.guest, self.config.window);
        self.first.start(exec, &self.supervisor.agent).await
    }

    async fn live(mut self, started: Result<Command, End>) {
        let event = self.last_end(started).await;
        self.supervisor.noted.send_replace(true);
        self.first.settle(event.clone());
        self.first.attached.dismiss(event).await;
        self.first.attached.heard().await;
        if let Err(error) = &self.log {
            log_line(&format!("output.log: {error}"));
        }
        self.supervisor.end(None, None).await;
    }

    /// Waits for the end of a rollback, which has ended the command with this event. Returns true if the
    /// command can begin anew, with the files that there are then.
    async fn can_begin_anew(&self, event: &EndEvent) -> bool {
        self.first.attached.dismiss(event.clone()).await;
        self.first.renew();
        let is_settled = self.supervisor.rollbacks.settled().await;
        is_settled && !self.first.attached.are_abandoned()
    }

    /// Runs the command as often as the policy demands. The exit is written when this returns.
    async fn last_end(&mut self, mut started: Result<Command, End>) -> EndEvent {
        let mut retries = 0;
        let mut backoff = BACKOFF_MIN;
        loop {
            let began = Instant::now();
            let rollbacks = self.supervisor.rollbacks.begun();
            let (exit, event) = match started {
                Ok(command) => self.first.attend(command, &mut self.log).await,
                Err(end) => end,
            };
            let (exit, event) = match self.supervisor.reason.get() {
                Some(reason) => limited(*reason),
                None => (exit, event),
            };
            let is_rolled_back = self.supervisor.rollbacks.begun() != rollbacks;
            if is_rolled_back && self.can_begin_anew(&event).await {
                (retries, backoff) = (0, BACKOFF_MIN);
                started = self.start().await;
                continue;
            }
            if let Err(error) = exit.write(&self.files.exit()) {
                log_line(&format!("exit.json: {error}"));
            }
            let is_ending = is_rolled_back || self.first.attached.are_abandoned();
            if is_ending || !self.config.restart.restarts_after(exit.code, retries) {
                return event;
            }
            self.first.attached.dismiss(event.clone()).await;
            self.first.renew();
            if began.elapsed() > SETTLED {
                (retries, backoff) = (0, BACKOFF_MIN);
            }
            if !self.first.attached.are_kept_for(backoff).await {
                return event;
            }
            retries += 1;
            backoff = (backoff * 2).min(BACKOFF_MAX);
            // A paused guest starts nothing, and neither does one whose disks are unmounted.
            self.supervisor.pause.ended().await;
            self.supervisor.rollbacks.settled().await;
            started = self.start().await;
            // A guest that shuts down starts nothing; that failure is not the command's end.
            if started.is_err() && self.first.attached.are_abandoned() {
                return event;
            }
        }
    }
}

/// Returns the end that a limit caused, regardless of the command's own exit status.
fn limited(reason: EndReason) -> End {
    let status = reason.status();
    (Exit::from_status(status), Event::Exited(status))
}

fn limit_duration(supervisor: &Supervisor, lifetime: Lifetime) {
    let Some(limit_s) = lifetime.max_duration_s else {
        return;
    };
    let supervisor = supervisor.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(limit_s)).await;
        log_line(&format!(
            "the sandbox ends: it has run for {limit_s} s (--max-duration)"
        ));
        let reason = Some(EndReason::MaxDuration);
        supervisor.end(Some(GRACE), reason).await;
    });
}

/// Ends the sandbox once its last owner is gone.
fn end_with_owners(supervisor: &Supervisor) {
    let supervisor = supervisor.clone();
    tokio::spawn(async move {
        let grace = supervisor.owners.lost().await;
        log_line("the sandbox ends: its last owner has disconnected");
        supervisor.end(Some(grace), None).await;
    });
}

fn limit_idleness(supervisor: &Supervisor, lifetime: Lifetime) {
    let Some(limit_s) = lifetime.idle_timeout_s else {
        return;
    };
    let supervisor = supervisor.clone();
    let limit = Duration::from_secs(limit_s);
    tokio::spawn(async move {
        let (mut clients, mut jobs) = (supervisor.clients.subscribe(), supervisor.jobs.running());
        loop {
            // Both senders live as long as the supervisor.
            let _ = clients.wait_for(|&count| count == 0).await;
            let _ = jobs.wait_for(|&count| count == 0).await;
            let busy = async {
                tokio::select! {
                    _ = clients.wait_for(|&count| count > 0) => {}
                    _ = jobs.wait_for(|&count| count > 0) => {}
                }
            };
            if timeout(limit, busy).await.is_err() {
                break;
            }
        }
        log_line(&format!(
            "the sandbox ends: no client was connected and no job ran for {limit_s} s (--idle-timeout)"
        ));
        let reason = Some(EndReason::IdleTimeout);
        supervisor.end(Some(GRACE), reason).await;
    });
}
