//! A control socket for tests, and a server that answers from a list.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::control::{ControlAnswer, ControlRequest};

/// Limit of everything that a test waits for.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A socket, and the requests that arrived at it.
pub(crate) struct TestServer {
    pub(crate) path: PathBuf,
    pub(crate) requests: Receiver<ControlRequest>,
    _directory: tempfile::TempDir,
}

impl TestServer {
    /// Accepts one connection, and answers each request with the result of `answer`, a line. An empty line
    /// closes the connection.
    pub(crate) fn start(
        mut answer: impl FnMut(&ControlRequest) -> Vec<u8> + Send + 'static,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secrets.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let (sender, requests) = channel();
        thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            while let Some(request) = next_request(&mut lines) {
                let line = answer(&request);
                let is_last = line.is_empty();
                // A test that has seen enough does not receive.
                let _ = sender.send(request);
                if is_last || (&stream).write_all(&line).is_err() {
                    break;
                }
            }
        });
        Self {
            path,
            requests,
            _directory: directory,
        }
    }
}

fn next_request(lines: &mut BufReader<UnixStream>) -> Option<ControlRequest> {
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line).ok()?;
    let line = line.strip_suffix(b"\n")?;
    Some(ControlRequest::parse(line).unwrap())
}

/// Returns an answer as a line.
pub(crate) fn line(answer: &ControlAnswer) -> Vec<u8> {
    answer.line().unwrap()
}
