//! Text of a source, bounded in length and in time.

use std::io;
use std::path::Path;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};
use rustix::fd::AsFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};
use zeroize::Zeroizing;

use crate::value::{InvalidValue, SecretValue, VALUE_MAX_BYTES};
use crate::wait::is_ready;

/// The longest value, the end of its line, and a byte that shows that there is more.
const INTAKE_BYTES: usize = VALUE_MAX_BYTES + 3;

/// Text that is being read. Its memory does not move, and is overwritten when it is dropped.
pub(super) struct Intake {
    bytes: Zeroizing<Vec<u8>>,
    length: usize,
}

impl Intake {
    pub(super) fn new() -> Self {
        Self {
            bytes: Zeroizing::new(vec![0; INTAKE_BYTES]),
            length: 0,
        }
    }

    /// Returns true if no longer text can become a value, so that reading on is useless.
    pub(super) const fn is_full(&self) -> bool {
        self.length >= INTAKE_BYTES
    }

    /// Reads once from a descriptor that is readable. Returns false at the end of the text.
    pub(super) fn read(&mut self, from: impl AsFd) -> io::Result<bool> {
        let (_, room) = self.bytes.split_at_mut(self.length);
        match read(from, room) {
            Ok(count) => {
                self.length += count;
                Ok(count > 0)
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the text as a value.
    pub(super) fn value(&self) -> Result<SecretValue, InvalidValue> {
        value_of(self.bytes.get(..self.length).unwrap_or_default())
    }
}

/// Returns a text without the end of its line as a value.
pub(super) fn value_of(text: &[u8]) -> Result<SecretValue, InvalidValue> {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // A long value need not be text to be too long.
    if line.len() > VALUE_MAX_BYTES {
        return Err(InvalidValue::TooLong);
    }
    let line = str::from_utf8(line).map_err(|_| InvalidValue::NotText)?;
    SecretValue::new(line)
}

/// Reads a file, or a pipe that another process writes.
pub(super) fn read_file(path: &Path, deadline: Instant) -> io::Result<Intake> {
    // Opening a named pipe waits for a writer, unless it is not to block.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = open(path, flags, Mode::empty())?;
    let mut intake = Intake::new();
    loop {
        if !is_ready(&mut [PollFd::new(&file, PollFlags::IN)], deadline)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if !intake.read(&file)? || intake.is_full() {
            return Ok(intake);
        }
    }
}
