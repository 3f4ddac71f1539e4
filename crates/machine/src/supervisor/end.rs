//! The end of the machine: in order with the agent's help, or by force.

use std::io;
use std::process;
use std::sync::atomic::Ordering;
use std::time::Duration;

use durable_files::now_s;
use fs_err as fs;
use msb_agent_protocol::v1::StopFirst;
use msb_agent_protocol::{Client, Status};
use msb_machine_records::{EndReason, Exit};
use msb_runtime::UNMOUNT_TIMEOUT;
use tokio::time::{sleep, timeout};

use super::Supervisor;
use super::main_command::MainCommand;
use crate::log::log_line;

/// The silence of an agent that is to shut down, after which the machine is killed. An agent that
/// waits for processes or disks still answers pings, one every 3 s: whoever answers none for 10 s
/// is stopped or hung. It is not less, because an emulated guest on an overloaded host may need
/// seconds for an answer.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout for an agent that answers pings to shut down, beyond the time that processes have.
const END_TIMEOUT: Duration = UNMOUNT_TIMEOUT;
/// The timeout for writing the exits of commands.
const RECORD_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout for the machine's end after its disks were unmounted.
const POWER_OFF_TIMEOUT: Duration = Duration::from_secs(5);
/// The time in which clients that asked for the end hear that the machine is killed.
const LAST_WORDS_TIME: Duration = Duration::from_millis(200);

/// The guest did not shut down.
#[derive(Debug, PartialEq, thiserror::Error)]
enum NotShutDown {
    #[error("the agent has not answered for {} s", SILENCE_TIMEOUT.as_secs())]
    Silent,
    #[error("the agent could not be asked, or refused")]
    Refused,
    #[error("it was not done after {} s", .0.as_secs())]
    Late(Duration),
}

impl Supervisor {
    /// Shuts the machine down, or kills it if the guest does not answer, and ends this process.
    /// `reason` is the limit that was reached, if any. A second caller waits for the end.
    pub(super) async fn end(&self, grace: Option<Duration>, reason: Option<EndReason>) -> ! {
        let signal = self.stop_signal.number();
        self.end_with(grace, signal, reason).await
    }

    /// Ends the machine like `end`, with the signal of this Linux number for the main command.
    pub(super) async fn end_with(
        &self,
        grace: Option<Duration>,
        signal: i32,
        reason: Option<EndReason>,
    ) -> ! {
        if self.is_ending.swap(true, Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if let Some(reason) = reason {
            // Only the first caller reaches this line.
            let _ = self.reason.set(reason);
        }
        if let Some(first) = &self.first {
            first.attached.abandon();
        }
        // A process that waits for an answer cannot be killed.
        self.questions.close();
        let first = self.first.as_ref().and_then(MainCommand::exec_id);
        let first = first.map(|exec_id| StopFirst { exec_id, signal });
        if let Err(error) = shut_down(&self.agent, grace, first).await {
            log_line(&format!("the guest did not shut down: {error}"));
            self.kill().await;
        }
        self.mark_shut_down();
        let mut noted = self.noted.subscribe();
        let written = async {
            let _ = noted.wait_for(|&noted| noted).await;
            self.jobs.all_noted().await;
        };
        if timeout(RECORD_TIMEOUT, written).await.is_err() {
            log_line("the exits of commands were not recorded in time");
        }
        self.note(None);
        // A machine that powers off ends this process; some VMMs take a moment. The answer is
        // hostile, and proves nothing.
        let _ = timeout(POWER_OFF_TIMEOUT, async {
            self.agent.clone().power_off().await;
            std::future::pending::<()>().await;
        })
        .await;
        log_line("the machine did not power off");
        process::exit(1);
    }

    /// Records that the guest, which has no main command, is up: if its machine is killed, no exit says so.
    /// It is not synced, because a power cut of the host is known for another reason.
    pub(super) fn mark_up(&self) {
        if let Err(error) = durable_files::create(&self.up) {
            log_line(&error.to_string());
        }
    }

    /// Records that the guest has shut down.
    fn mark_shut_down(&self) {
        match fs::remove_file(&self.up) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => log_line(&error.to_string()),
            _ => {}
        }
    }

    /// Waits until the machine is to be killed, and returns the error for clients that asked for
    /// its end. A machine that ends in order ends this process instead.
    pub(super) async fn killed(&self) -> Status {
        let mut killed = self.killed.subscribe();
        // The sender lives as long as `self`.
        let _ = killed.wait_for(|&killed| killed).await;
        Status::deadline_exceeded("the guest did not shut down, and its machine was killed")
    }

    /// Ends this process, and the machine with it, as a power cut would.
    pub(super) async fn kill(&self) -> ! {
        self.note(Some(Exit::killed(Some(now_s()))));
        self.killed.send_replace(true);
        sleep(LAST_WORDS_TIME).await;
        process::exit(1);
    }

    /// Records the limit that ended the sandbox, or else `otherwise`, unless the main command's exit
    /// is recorded.
    fn note(&self, otherwise: Option<Exit>) {
        if self.first.is_some() && *self.noted.borrow() {
            return;
        }
        let limit = self.reason.get();
        let exit = limit.map(|reason| Exit::from_status(reason.status()));
        if let Some(exit) = exit.or(otherwise)
            && let Err(error) = exit.write(&self.exit)
        {
            log_line(&format!("exit.json: {error}"));
        }
    }
}

/// Asks the agent to end every process and unmount the disks, and waits for its answer. It has
/// `grace` and `END_TIMEOUT` for that while it answers pings.
async fn shut_down(
    agent: &Client,
    grace: Option<Duration>,
    first: Option<StopFirst>,
) -> Result<(), NotShutDown> {
    let limit = grace.unwrap_or_default().saturating_add(END_TIMEOUT);
    let mut asked = agent.clone();
    let heartbeat = agent.heartbeat();
    tokio::select! {
        biased;
        answer = timeout(limit, asked.shutdown(grace, first)) => match answer {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(NotShutDown::Refused),
            Err(_) => Err(NotShutDown::Late(limit)),
        },
        () = heartbeat.silence(SILENCE_TIMEOUT) => Err(NotShutDown::Silent),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::Instant;

    use super::*;

    const GREETING: &[u8] = b"msb guest \r\n\0\0\0\x02";
    /// An empty SETTINGS frame, with which an HTTP/2 server begins.
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    /// Length of the host's greeting and of the HTTP/2 preface, in bytes.
    const OPENING_BYTES: usize = 16 + 24;
    const PING: u8 = 6;

    /// Plays an agent that answers no call. It answers pings if `is_alive`.
    async fn play(mut port: DuplexStream, is_alive: bool) -> std::io::Result<()> {
        port.write_all(GREETING).await?;
        port.write_all(SETTINGS).await?;
        port.read_exact(&mut [0; OPENING_BYTES]).await?;
        loop {
            let mut header = [0; 9];
            port.read_exact(&mut header).await?;
            let [a, b, c, kind, flags, ..] = header;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            port.read_exact(&mut payload).await?;
            if is_alive && kind == PING && flags == 0 {
                header[4] = 1;
                port.write_all(&header).await?;
                port.write_all(&payload).await?;
            }
        }
    }

    /// Returns the error of a shutdown with this grace, and the time that it took.
    async fn refused(is_alive: bool, grace: Duration) -> (NotShutDown, Duration) {
        let (host, guest) = duplex(4096);
        tokio::spawn(play(guest, is_alive));
        let agent = Client::connect_port(host).await.expect("greeted");
        let began = Instant::now();
        let outcome = shut_down(&agent, Some(grace), None).await;
        (outcome.expect_err("no answer"), began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_guest_is_given_up_whatever_its_grace() {
        let (error, took) = refused(false, Duration::from_secs(3600)).await;
        assert_eq!(error, NotShutDown::Silent);
        assert!(took < SILENCE_TIMEOUT * 2, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_guest_that_answers_pings_keeps_its_grace() {
        let grace = Duration::from_secs(100);
        let (error, took) = refused(true, grace).await;
        assert_eq!(error, NotShutDown::Late(grace + END_TIMEOUT));
        assert!(took >= grace + END_TIMEOUT, "{took:?}");
    }
}
