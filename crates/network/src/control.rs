//! The control socket of a sandbox with secrets, which their values arrive at.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use msb_secrets::{ControlAnswer, ControlRequest, LINE_MAX_BYTES};
use msb_tls_edge::Values;
use rustix::process::Uid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{sleep, timeout};
use zeroize::Zeroizing;

use crate::control_clients::{Clients, Place};
use crate::limits::{CONTROL_ANSWER_TIMEOUT, CONTROL_REQUESTS_MAX};
use crate::window::{SPAN, Window};

/// The time after which a request is tried again that came too soon.
const PAUSE: Duration = Duration::from_millis(50);

/// The values of the secrets, and the rate of the requests that change them.
#[derive(Debug)]
struct Control {
    values: Values,
    requests: Mutex<Window>,
}

/// Serves the clients of `owner` on the control socket. Others are refused.
pub(crate) async fn serve_control(listener: UnixListener, values: Values, owner: Uid) {
    let clients = Clients::default();
    let control = Arc::new(Control::new(values));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The host lacks descriptors or memory.
            sleep(SPAN).await;
            continue;
        };
        // The socket's mode says the same, unless the user has changed it.
        let is_owner = stream
            .peer_cred()
            .is_ok_and(|peer| peer.uid() == owner.as_raw());
        if is_owner && let Some(place) = clients.enter() {
            let control = Arc::clone(&control);
            tokio::spawn(async move {
                // A client that breaks the protocol, or goes, is served no longer.
                let _ = control.serve(stream, place).await;
            });
        }
    }
}

impl Control {
    fn new(values: Values) -> Self {
        Self {
            values,
            requests: Mutex::new(Window::new(CONTROL_REQUESTS_MAX, Instant::now())),
        }
    }

    /// Carries out the requests of one client, one after the other.
    async fn serve(&self, stream: UnixStream, place: Place) -> io::Result<()> {
        let mut requests = Requests::new(stream);
        while let Some(next) = place.await_request(requests.next()).await
            && let Some(line) = next?
        {
            while !self.admits() {
                sleep(PAUSE).await;
            }
            let answer = self.answer(&line).line()?;
            let written = requests.stream.write_all(&answer);
            timeout(CONTROL_ANSWER_TIMEOUT, written).await??;
        }
        Ok(())
    }

    fn admits(&self) -> bool {
        let requests = self.requests.lock();
        let mut requests = requests.unwrap_or_else(PoisonError::into_inner);
        requests.admits(Instant::now())
    }

    fn answer(&self, line: &[u8]) -> ControlAnswer {
        let Ok(request) = ControlRequest::parse(line) else {
            return refused("the request is not one of this version of msb");
        };
        let refusal = match request {
            ControlRequest::Set {
                name,
                value,
                expires_ms,
            } => {
                let lifetime = expires_ms.map(Duration::from_millis);
                let set = self.values.set(&name, value, lifetime);
                set.err().map(|error| error.to_string())
            }
            ControlRequest::Remove { name } => {
                let removed = self.values.remove(&name);
                removed.err().map(|error| error.to_string())
            }
            ControlRequest::List => return ControlAnswer::Secrets(self.values.list()),
        };
        refusal.map_or(ControlAnswer::Done, |reason| refused(&reason))
    }
}

fn refused(message: &str) -> ControlAnswer {
    ControlAnswer::Refused {
        message: message.to_owned(),
    }
}

/// The requests of one client: lines of bounded length. They hold values, so their memory is
/// overwritten.
struct Requests {
    stream: UnixStream,
    buffer: Zeroizing<Vec<u8>>,
    filled: usize,
}

impl Requests {
    fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            buffer: Zeroizing::new(vec![0; LINE_MAX_BYTES]),
            filled: 0,
        }
    }

    /// Returns the next line. `None` if the client has closed the connection.
    async fn next(&mut self) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        loop {
            let filled = &self.buffer[..self.filled];
            if let Some(end) = filled.iter().position(|byte| *byte == b'\n') {
                let line = Zeroizing::new(filled[..end].to_vec());
                self.buffer.copy_within(end + 1..self.filled, 0);
                self.filled -= end + 1;
                return Ok(Some(line));
            }
            if self.filled == self.buffer.len() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            match self.stream.read(&mut self.buffer[self.filled..]).await? {
                0 => return Ok(None),
                length => self.filled += length,
            }
        }
    }
}
