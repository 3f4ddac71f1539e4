//! A terminal at which a command of msb shows text and reads answers.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The time in which a text has to appear: a guest boots in it.
const LIMIT: Duration = Duration::from_secs(180);
/// The time that a person takes to answer. What is typed before a question is shown is no answer to it.
const TYPING: Duration = Duration::from_millis(500);
/// The byte that ends the input, `^D`.
const END: u8 = 4;

/// A command with a terminal as its standard input and error. Its standard output is a pipe.
pub(super) struct Terminal {
    child: Child,
    typed: File,
    shown: Arc<Shown>,
}

/// The text on a terminal, what was typed included.
#[derive(Default)]
struct Shown {
    text: Mutex<Text>,
    changed: Condvar,
}

#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    /// True once the command has closed the terminal.
    is_whole: bool,
}

impl Terminal {
    /// Starts a command at a new terminal.
    pub(super) fn start(mut command: Command) -> Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let own = openpt(flags)?;
        grantpt(&own)?;
        unlockpt(&own)?;
        let name = ptsname(&own, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let open = || rustix::fs::open(&name, flags, Mode::empty());
        command.stdin(open()?).stderr(open()?);
        let child = command.stdout(Stdio::piped()).spawn()?;
        // The last copies of the other end are the command's.
        drop(command);
        let typed = File::from(own);
        let mut output = typed.try_clone()?;
        let shown: Arc<Shown> = Arc::default();
        let reader = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // The read fails once the other end is closed.
            while let Ok(length @ 1..) = output.read(&mut piece) {
                reader.change(|text| text.bytes.extend_from_slice(&piece[..length]));
            }
            reader.change(|text| text.is_whole = true);
        });
        Ok(Self {
            child,
            typed,
            shown,
        })
    }

    /// Waits until the words were shown so many times. Returns false if the command ended before.
    pub(super) fn shows(&self, words: &str, times: usize) -> Result<bool> {
        let end = Instant::now() + LIMIT;
        let mut text = self.shown.lock();
        loop {
            let shown = String::from_utf8_lossy(&text.bytes).into_owned();
            if shown.matches(words).count() >= times {
                return Ok(true);
            }
            if text.is_whole {
                return Ok(false);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("no '{words}' in {shown:?}");
            }
            let waited = self.shown.changed.wait_timeout(text, left);
            text = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Types a line.
    pub(super) fn types(&mut self, line: &str) -> Result<()> {
        sleep(TYPING);
        Ok(self.typed.write_all(format!("{line}\n").as_bytes())?)
    }

    /// Types the end of the input.
    pub(super) fn types_end(&mut self) -> Result<()> {
        sleep(TYPING);
        Ok(self.typed.write_all(&[END])?)
    }

    /// Waits until the command ends. The text on the terminal is its standard error.
    pub(super) fn end(mut self) -> Result<Output> {
        let mut stdout = Vec::new();
        let mut pipe = self.child.stdout.take().context("no pipe")?;
        pipe.read_to_end(&mut stdout)?;
        let status = self.child.wait()?;
        let stderr = self.shown.lock().bytes.clone();
        Ok(Output {
            status,
            stdout,
            stderr,
        })
    }
}

impl Shown {
    fn lock(&self) -> std::sync::MutexGuard<'_, Text> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Text)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}
