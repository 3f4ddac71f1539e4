//! Output of foreign origin, such as files of a sandbox. A terminal gets it escaped, because it would act on
//! control characters, and hide or reorder others: what is read there has to be what the file has.

use std::io::{self, Write as _};

use terminal_text::Escaper;

use crate::output::{self, Stream};
use crate::terminal;

/// The notice after output in which something was escaped.
const NOTICE: &str = "characters that a terminal acts on or hides are shown escaped, such as \\u{1b} or \\r; \
     a pipe or a file gets them unchanged";

/// Standard output for bytes of foreign origin. They pass unchanged if it is no terminal.
#[derive(Debug)]
pub struct ForeignOutput {
    escaper: Option<Escaper>,
}

impl ForeignOutput {
    /// Returns standard output.
    pub fn stdout() -> Self {
        Self {
            escaper: terminal::stdout_is_terminal().then(Escaper::default),
        }
    }

    /// Writes bytes. Returns true if standard output still has a reader.
    pub fn offer(&mut self, bytes: &[u8]) -> io::Result<bool> {
        match &mut self.escaper {
            Some(escaper) => write(&escaper.escape(bytes)),
            None => write(bytes),
        }
    }

    /// Ends the output. Unless it `is_quiet`, a notice says that something was escaped.
    pub fn finish(mut self, is_quiet: bool) -> io::Result<()> {
        if let Some(escaper) = &mut self.escaper {
            write(&escaper.finish())?;
            say_escaped(escaper, is_quiet);
        }
        Ok(())
    }
}

/// Says that something was escaped, if anything was.
pub fn say_escaped(escaper: &Escaper, is_quiet: bool) {
    if escaper.has_escaped() && !is_quiet {
        output::notice(NOTICE);
    }
}

fn write(bytes: &[u8]) -> io::Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Stream::Stdout.unwritable(error)),
    }
}
