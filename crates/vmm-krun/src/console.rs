//! The guest's console, which must take whatever the guest says.
//!
//! libkrun tries a write that failed again and again, and the guest's kernel waits for it: on a full disk, for ever.
//! So libkrun writes into a pipe, and a thread keeps in the log what the log takes.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use msb_jail::{Calls, Jail, Strictness};
use msb_vmm::RunError;

/// The most bytes that are passed on at once: the capacity of a pipe.
const PIECE_BYTES: usize = 64 << 10;

/// A console that a guest can be given.
#[derive(Debug)]
pub(crate) struct Console(PipeWriter);

impl Console {
    /// Creates a console whose output is appended to a file. The console thread is confined.
    pub(crate) fn start(log: &Path, strictness: Strictness) -> Result<Self, RunError> {
        let failed = |source| RunError::Io {
            action: format!("write the console's output to {}", log.display()),
            source,
        };
        let (output, pipe) = io::pipe().map_err(failed)?;
        let file = File::options().append(true).create(true).open(log);
        let file = file.map_err(failed)?;
        let (confined, told) = mpsc::channel();
        let keep = move || {
            let report = Jail::new(Calls::Supervisor).put_on(strictness);
            let is_confined = report.is_ok();
            // The other side waits for it.
            let _ = confined.send(report.map(drop));
            if is_confined {
                pass_on(output, file);
            }
        };
        let named = std::thread::Builder::new().name("console".to_owned());
        named.spawn(keep).map_err(failed)?;
        told.recv()
            .map_err(|_| failed(io::ErrorKind::BrokenPipe.into()))??;
        Ok(Self(pipe))
    }

    /// A path that leads this process to the console, for as long as this value lives.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

/// Passes output on until nobody can write any more. What is not taken is lost.
fn pass_on(mut output: PipeReader, mut log: impl Write) {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match output.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => {
                let _ = log.write_all(&piece[..length]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// As libkrun opens it.
    fn open(console: &Console) -> File {
        File::create(console.path()).unwrap()
    }

    #[test]
    fn what_is_said_comes_into_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("console.log");
        let console = Console::start(&log, Strictness::Off).unwrap();
        open(&console).write_all(b"[    0.1] Linux\n").unwrap();
        open(&console).write_all(b"[    0.2] init\n").unwrap();
        drop(console);
        let expected = b"[    0.1] Linux\n[    0.2] init\n";
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::fs::read(&log).unwrap() != expected && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(std::fs::read(&log).unwrap(), expected);
    }

    #[test]
    fn a_full_disk_keeps_nobody_waiting() {
        let console = Console::start(Path::new("/dev/full"), Strictness::Off).unwrap();
        let more_than_a_pipe_holds = vec![b'x'; 16 * PIECE_BYTES];
        open(&console).write_all(&more_than_a_pipe_holds).unwrap();
    }

    #[test]
    fn a_log_that_cannot_be_written_is_named() {
        let error = Console::start(Path::new("/no/console.log"), Strictness::Off);
        let expected = "cannot write the console's output to /no/console.log";
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}
