//! Passes the signals that this process gets on to a command in a sandbox.

use std::io;
use std::time::Instant;

use msb_agent_protocol::Control;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::output;
use crate::patience::{Patience, Worth};
use crate::terminal;

/// Sends the signals that this process gets to the command, and the terminal's new sizes. Says on
/// `enough` when the user has asked often enough; before that, what `next` one more does.
pub(crate) async fn forward(
    control: Control,
    has_terminal: bool,
    next: &'static str,
    enough: mpsc::Sender<()>,
) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut resized = signal(SignalKind::window_change())?;
    let mut patience = Patience::default();
    loop {
        let kind = tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt(),
            _ = terminate.recv() => SignalKind::terminate(),
            _ = hangup.recv() => SignalKind::hangup(),
            _ = quit.recv() => SignalKind::quit(),
            _ = resized.recv() => SignalKind::window_change(),
        };
        match patience.weigh(kind, Instant::now()) {
            Worth::Passed => {}
            Worth::Warning => output::notice(&format!("still running; once more {next}")),
            Worth::Enough => {
                // One is enough; who listened may be gone.
                let _ = enough.try_send(());
                continue;
            }
        }
        // A guest that does not answer keeps no later signal from being heard.
        tokio::spawn(pass_on(control.clone(), kind, has_terminal));
    }
}

/// The command may just have ended.
async fn pass_on(mut control: Control, kind: SignalKind, has_terminal: bool) {
    let _ = if kind != SignalKind::window_change() {
        control.signal(kind.as_raw_value()).await
    } else if has_terminal {
        control.resize(terminal::size()).await
    } else {
        Ok(())
    };
}
