//! The process of a shim: its connections, its events, and its end.

use std::io;
use std::os::unix::net::UnixListener as StdListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use crate::events::Publisher;
use crate::service::TaskService;
use crate::tasks::Tasks;
use crate::{Group, Log, Pod};

/// The most connections at a time. containerd has one, and a second one while it is restarted.
const CONNECTIONS_MAX: usize = 32;
/// The time after which a shim ends that is asked for no container: its start failed.
const UNUSED_TIMEOUT: Duration = Duration::from_secs(60);
/// The time for the last answers and events of a shim. containerd waits 3 s for the end of a shim.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause after a failed accept, such as with too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The server of a shim.
pub struct Server<P> {
    tasks: Arc<Tasks<P>>,
    publisher: Publisher,
    log: Log,
}

impl<P: Pod> Server<P> {
    /// Returns the server of a group, whose events go to the ttrpc services of containerd at `events`.
    #[must_use]
    pub fn new(pod: P, group: &Group, events: &Path, log: Log) -> Self {
        let tasks = Tasks::new(pod, &group.namespace);
        let publisher = Publisher::new(Arc::clone(&tasks.events), events, log.clone());
        Self {
            tasks,
            publisher,
            log,
        }
    }

    /// Serves the Task service until containerd shuts the shim down, or has created nothing for 60 s. The machine has
    /// ended afterwards, and the socket is removed.
    ///
    /// # Errors
    /// If the socket cannot be used.
    pub async fn serve(self, listener: StdListener) -> io::Result<()> {
        let listener = UnixListener::from_std(listener)?;
        let mut connections = JoinSet::new();
        let events = tokio::spawn(self.publisher.run());
        let unused = async {
            if tokio::time::timeout(UNUSED_TIMEOUT, self.tasks.used())
                .await
                .is_ok()
            {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = accept(&listener, &mut connections, &self.tasks, &self.log) => {}
            () = self.tasks.shut_down() => {}
            () = unused => self.log.warn("no container was created within 60 s"),
        }
        // Removed before it is closed: afterwards another shim of the group may listen there.
        let socket = listener.local_addr()?;
        if let Some(path) = socket.as_pathname() {
            let _ = fs_err::remove_file(path);
        }
        drop(listener);
        self.tasks.end_machine().await;
        let last_words = async {
            self.tasks.events.emptied().await;
            // containerd closes its connection when it has the answer.
            while connections.join_next().await.is_some() {}
        };
        // What has not been taken by then never will be.
        let _ = tokio::time::timeout(LAST_WORDS_TIMEOUT, last_words).await;
        events.abort();
        Ok(())
    }
}

/// Accepts connections until it is dropped.
async fn accept<P: Pod>(
    listener: &UnixListener,
    connections: &mut JoinSet<()>,
    tasks: &Arc<Tasks<P>>,
    log: &Log,
) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                log.warn(&format!("cannot accept a connection: {error}"));
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        if connections.len() >= CONNECTIONS_MAX || !is_own_user(&stream) {
            log.warn("a connection was refused: it is one too many, or of another user");
            continue;
        }
        let (service, log) = (Arc::new(TaskService(Arc::clone(tasks))), log.clone());
        connections.spawn(async move {
            if let Err(error) = ttrpc::serve(stream, service).await {
                log.warn(&format!("a connection of containerd broke: {error}"));
            }
        });
    }
}

fn is_own_user(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own)
}
