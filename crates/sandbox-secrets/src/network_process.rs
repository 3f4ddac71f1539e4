//! The control socket of a network process, for tests.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use msb_secrets::{ControlAnswer, ControlRequest};

/// The limit of everything that a test waits for.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Listens at a socket, and answers each request with the result of `answer`. Returns the requests.
pub(crate) fn listen(
    socket: &Path,
    answer: impl Fn(&ControlRequest) -> ControlAnswer + Send + 'static,
) -> Receiver<ControlRequest> {
    let listener = UnixListener::bind(socket).expect("bound");
    let (sender, requests) = channel();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let mut lines = BufReader::new(stream.try_clone().expect("a stream"));
            while let Some(request) = next(&mut lines) {
                let line = answer(&request).line().expect("an answer");
                // The test may have ended.
                let _ = sender.send(request);
                let _ = (&stream).write_all(&line);
            }
        }
    });
    requests
}

fn next(lines: &mut BufReader<UnixStream>) -> Option<ControlRequest> {
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line).ok()?;
    ControlRequest::parse(line.strip_suffix(b"\n")?).ok()
}
