use std::error::Error;
use std::iter::successors;
use std::sync::Arc;
use std::time::Duration;

use msb_agent_protocol::v1::Accepted;
use msb_agent_protocol::{Accepts, Client, ClientError, GuestSocket};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::door::{Door, Kind};
use crate::log::Log;
use crate::{SocketsError, host, ssh_agent};

/// The number of connections of one door at a time. Further ones wait in the guest.
const CONNECTIONS_MAX: usize = 64;
/// The pause before the guest is asked again to listen, after a rollback for instance.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// The time that a program has to close its end after the filter has ended.
const LINGER_TIMEOUT: Duration = Duration::from_secs(10);
/// The room between a connection and the filter, in bytes.
const FILTER_BYTES: usize = 16 << 10;

/// A door that is open: the guest listens, or will again.
pub(crate) struct Forward {
    client: Client,
    door: Arc<Door>,
    log: Log,
    room: Arc<Semaphore>,
}

impl Forward {
    /// Opens a door. Programs can connect when this returns.
    pub(crate) async fn open(
        mut client: Client,
        door: Door,
        log: Log,
    ) -> Result<(Self, Accepts), SocketsError> {
        let accepts = client.accept(door.request()).await;
        let accepts = accepts.map_err(|source| SocketsError::Guest {
            path: door.guest.clone(),
            source: Box::new(source),
        })?;
        let forward = Self {
            client,
            door: Arc::new(door),
            log,
            room: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        };
        Ok((forward, accepts))
    }

    /// Carries connections until the machine ends.
    pub(crate) async fn run(mut self, accepts: Accepts) {
        let mut next = Some(accepts);
        while let Some(accepts) = next {
            self.take_all(accepts).await;
            next = self.listen_again().await;
        }
    }

    /// Takes connections until the guest listens no more.
    async fn take_all(&self, mut accepts: Accepts) {
        while let Ok(Some(accepted)) = accepts.next().await {
            let Ok(room) = self.room.clone().acquire_owned().await else {
                return;
            };
            let (client, door, log) = (self.client.clone(), self.door.clone(), self.log.clone());
            tokio::spawn(async move {
                carry(client, &door, accepted, &log).await;
                drop(room);
            });
        }
    }

    /// Asks the guest to listen, until it does; `None` once the machine has ended.
    async fn listen_again(&mut self) -> Option<Accepts> {
        let mut is_told = false;
        loop {
            sleep(RETRY_INTERVAL).await;
            if self.client.is_closed() {
                return None;
            }
            match self.client.accept(self.door.request()).await {
                Ok(accepts) => return Some(accepts),
                Err(_) if self.client.is_closed() => return None,
                Err(_) if is_told => {}
                Err(error) => {
                    is_told = true;
                    let path = self.door.guest.escape_debug();
                    let reason = chain(&error);
                    self.log
                        .line(&format!("the socket '{path}' is not offered: {reason}"));
                }
            }
        }
    }
}

/// Carries one connection. A socket of the host that cannot be connected to closes it.
async fn carry(mut client: Client, door: &Door, accepted: Accepted, log: &Log) {
    // The program may be gone.
    let Ok(socket) = client.carry(accepted.id).await else {
        return;
    };
    let stream = match host::connect(&door.host).await {
        Ok(stream) => stream,
        Err(error) => {
            return log.line(&format!(
                "{} was refused: {}",
                who(&accepted),
                chain(&error)
            ));
        }
    };
    let carried = match door.kind {
        // Either end may break its connection at any time.
        Kind::Plain => socket.join(stream).await,
        Kind::SshAgent => filter(socket, stream, &who(&accepted), log).await,
    };
    if let Err(ClientError::Io(error)) = carried
        && door.kind == Kind::SshAgent
    {
        log.line(&format!("a connection with the SSH agent ended: {error}"));
    }
}

/// Carries a connection with the SSH agent, through the filter.
async fn filter(
    socket: GuestSocket,
    agent: UnixStream,
    who: &str,
    log: &Log,
) -> Result<(), ClientError> {
    let (near, far) = tokio::io::duplex(FILTER_BYTES);
    let joined = socket.join(near);
    tokio::pin!(joined);
    tokio::select! {
        joined = &mut joined => joined,
        passed = ssh_agent::pass(far, agent, who, log) => {
            let _ = timeout(LINGER_TIMEOUT, &mut joined).await;
            passed.map_err(ClientError::Io)
        }
    }
}

/// Returns the words for the program that has connected. They are the guest's.
fn who(accepted: &Accepted) -> String {
    match (accepted.pid, accepted.uid) {
        (Some(pid), Some(uid)) => format!("process {pid} of user {uid} in the sandbox"),
        (None, Some(uid)) => format!("a process of user {uid} in the sandbox"),
        _ => "a process in the sandbox".to_owned(),
    }
}

/// Returns an error and its sources as one line.
fn chain(error: &(dyn Error + 'static)) -> String {
    let errors = successors(Some(error), |&error| error.source());
    let texts: Vec<String> = errors.map(ToString::to_string).collect();
    texts.join(": ").replace(char::is_control, " ")
}
