use std::io::{self, IsTerminal as _};

use msb_agent_protocol::v1::WindowSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// The user's terminal in raw mode; dropping it puts the old mode back.
#[derive(Debug)]
pub(crate) struct RawTerminal {
    saved: Termios,
}

impl RawTerminal {
    /// Hands every key to the guest's terminal: no echo, no line editing, no signals here.
    pub(crate) fn enter() -> io::Result<Self> {
        let saved = tcgetattr(io::stdin())?;
        let mut raw = saved.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Drain, &raw)?;
        Ok(Self { saved })
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that went away needs no mode.
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.saved);
    }
}

/// Whether standard input is a terminal.
pub(crate) fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// The terminal's size; 24 by 80 where there is none, or it does not know.
pub(crate) fn size() -> WindowSize {
    let size = tcgetwinsize(io::stdout())
        .or_else(|_| tcgetwinsize(io::stdin()))
        .ok();
    match size {
        Some(size) if size.ws_row > 0 && size.ws_col > 0 => WindowSize {
            rows: size.ws_row.into(),
            columns: size.ws_col.into(),
        },
        _ => WindowSize {
            rows: 24,
            columns: 80,
        },
    }
}
