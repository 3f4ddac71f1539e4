//! Signals of this process: those that end it, and those that it passes to a command in a sandbox.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use msb_sdk::Process;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::interrupt_counter::{AT_ONCE, InterruptCounter, SignalEffect};
use crate::{output, terminal};

/// True once signals are passed to a command in a sandbox, whose user decides how often to ask.
static IS_PASSING_ON: AtomicBool = AtomicBool::new(false);

/// The first signal, and its time.
type First = Option<(SignalKind, Instant)>;

/// The signals that end a process, to be awaited beside its work. From the first wait on, the first of
/// them does not end the process. A second one does: a thread may be blocked in a system call
/// that never returns.
#[derive(Debug, Default)]
pub struct Interrupts(OnceLock<watch::Receiver<First>>);

impl Interrupts {
    /// Waits for the first signal since the first wait. Returns the exit code of a process that
    /// this signal ends.
    pub async fn wait(&self) -> u8 {
        let mut heard = self.0.get_or_init(listen).clone();
        let kind = match heard.wait_for(Option::is_some).await {
            Ok(first) => first.map(|(kind, _)| kind),
            // No signal can be received, so signals end the process as usual.
            Err(_) => std::future::pending().await,
        };
        let number = kind.map_or(0, |kind| kind.as_raw_value());
        u8::try_from(128 + number).unwrap_or(u8::MAX)
    }
}

/// Starts to receive the signals.
fn listen() -> watch::Receiver<First> {
    let (sender, heard) = watch::channel(None);
    for kind in [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ] {
        let sender = sender.clone();
        if let Ok(mut signal) = signal(kind) {
            tokio::spawn(async move {
                while signal.recv().await.is_some() {
                    let now = Instant::now();
                    sender.send_if_modified(|first| {
                        let is_first = first.is_none();
                        first.get_or_insert((kind, now));
                        is_first
                    });
                    let first = (*sender.borrow()).map_or(now, |(_, first)| first);
                    if is_second(first, now) && !IS_PASSING_ON.load(Ordering::Relaxed) {
                        exit(kind);
                    }
                }
            });
        }
    }
    heard
}

/// Ends this process at once, with the exit code of one that the signal ends.
#[expect(
    clippy::exit,
    reason = "a thread that is blocked in a system call keeps the runtime from ending"
)]
fn exit(kind: SignalKind) -> ! {
    std::process::exit(128 + kind.as_raw_value())
}

/// Returns true if a signal is another request to end, and not the echo of the first one: timeout(1)
/// sends a signal to a process and to its group.
fn is_second(first: Instant, now: Instant) -> bool {
    now.saturating_duration_since(first) > AT_ONCE
}

/// Passes the signals of this process, and the terminal's new sizes, to the command. Sends on
/// `enough` when the user has asked often enough. Before that, warns of the effect `next` of one
/// more.
pub async fn forward(
    process: Arc<Process>,
    has_terminal: bool,
    next: &'static str,
    enough: mpsc::Sender<()>,
) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut resized = signal(SignalKind::window_change())?;
    IS_PASSING_ON.store(true, Ordering::Relaxed);
    let mut counter = InterruptCounter::default();
    loop {
        let kind = tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt(),
            _ = terminate.recv() => SignalKind::terminate(),
            _ = hangup.recv() => SignalKind::hangup(),
            _ = quit.recv() => SignalKind::quit(),
            _ = resized.recv() => SignalKind::window_change(),
        };
        match counter.count(kind, Instant::now()) {
            SignalEffect::PassedOn => {}
            SignalEffect::Warning => output::notice(&format!(
                "the command is still running; one more signal {next}"
            )),
            SignalEffect::Enough => {
                // One message is enough, and the receiver may be gone.
                let _ = enough.try_send(());
                continue;
            }
        }
        // A guest that does not answer must not delay later signals.
        tokio::spawn(pass_on(Arc::clone(&process), kind, has_terminal));
    }
}

/// Passes one signal on. A failure is ignored, because the command may have ended.
async fn pass_on(process: Arc<Process>, kind: SignalKind, has_terminal: bool) {
    let _ = if kind != SignalKind::window_change() {
        process.signal(kind.as_raw_value()).await
    } else if has_terminal {
        let size = terminal::size();
        process.resize(size.rows, size.cols).await
    } else {
        Ok(())
    };
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn an_echo_of_a_signal_is_no_second_one() {
        let first = Instant::now();
        assert!(!is_second(first, first));
        assert!(!is_second(first, first + Duration::from_millis(100)));
        assert!(is_second(first, first + Duration::from_secs(1)));
    }

    #[tokio::test]
    async fn an_interrupt_is_heard_by_who_waits_later_too() {
        let interrupts = Interrupts::default();
        let soon = Duration::from_millis(50);
        assert!(timeout(soon, interrupts.wait()).await.is_err());
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::TERM).expect("sent");
        let long = Duration::from_secs(60);
        for _ in 0..2 {
            let code = timeout(long, interrupts.wait()).await.expect("heard");
            assert_eq!(code, 128 + 15);
        }
    }
}
