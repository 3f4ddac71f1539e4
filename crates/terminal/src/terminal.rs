//! The terminal of this process: its size, its modes, and the streams that lead to it.

use std::io::{self, IsTerminal as _};

use msb_sdk::TerminalSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// The user's terminal in raw mode. The previous mode is restored when this value is dropped.
#[derive(Debug)]
pub struct RawTerminal {
    saved: Termios,
}

impl RawTerminal {
    /// Switches to raw mode, so that every key goes to the guest's terminal: no echo, no line
    /// editing, no signals.
    pub fn enter() -> io::Result<Self> {
        let saved = tcgetattr(io::stdin())?;
        let mut raw = saved.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Drain, &raw)?;
        Ok(Self { saved })
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that was closed has no mode to restore.
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.saved);
    }
}

/// Returns true if standard input is a terminal.
pub fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Returns true if standard output is a terminal.
pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Refuses to write an archive to standard output if that is a terminal. `remedy` says what to do instead.
pub fn refuse_archive(remedy: &str) -> Result<(), anyhow::Error> {
    anyhow::ensure!(
        !stdout_is_terminal(),
        "an archive is not written to a terminal: {remedy}"
    );
    Ok(())
}

/// Returns true if standard error is a terminal.
pub fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Returns the terminal's size; 24 by 80 if there is no terminal or its size is unknown.
pub fn size() -> TerminalSize {
    let size = tcgetwinsize(io::stdout())
        .or_else(|_| tcgetwinsize(io::stdin()))
        .ok();
    match size {
        Some(size) if size.ws_row > 0 && size.ws_col > 0 => TerminalSize {
            rows: size.ws_row,
            cols: size.ws_col,
        },
        _ => TerminalSize::default(),
    }
}

/// Returns the number of columns of the terminal that standard output is. `None` if it is no
/// terminal, or its width is unknown.
pub fn stdout_columns() -> Option<usize> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
