//! The state behind a sandbox's handles: its description, its connection, its machine, its owner.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use msb_agent_protocol::Client;
use msb_cancellation::Effect;
use msb_client::{Error, ErrorKind, Exit, Notice, Operation, Shared, blocking};
use msb_runtime::{ConnectError, Running, Sandbox as StoredSandbox, State};
use msb_sandbox_secrets::GivenValues;
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep};

use super::owner::Owner;

/// The time that the process of an ended machine may take to disappear, after its connection broke.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// The most calls of one handle that last, such as commands. A connection has room for 256 calls, and
/// signals must find some.
const STREAMS_MAX: usize = 200;
/// The interval at which the state of a sandbox is read whose connection broke.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The end of a machine that this process started; `None` while it runs. An error says that it did
/// not end cleanly.
type MachineEnd = Option<Result<(), String>>;

/// The state that all handles of one sandbox share.
#[derive(Debug)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
    stored: RwLock<StoredSandbox>,
    connection: AsyncMutex<Option<Client>>,
    machine: Mutex<Option<watch::Receiver<MachineEnd>>>,
    owner: Mutex<Option<Owner>>,
    /// True once the scope of the owned sandbox has ended.
    is_ending: AtomicBool,
    /// Permits for calls that last, which leave room on the connection for others.
    streams: Arc<Semaphore>,
    /// Values of secrets for the first start, which are in no file.
    given: Mutex<GivenValues>,
    warnings: Vec<Notice>,
}

impl Handle {
    /// Returns the handle of a sandbox, without a connection.
    pub fn new(shared: Arc<Shared>, stored: StoredSandbox, warnings: Vec<Notice>) -> Self {
        Self {
            shared,
            stored: RwLock::new(stored),
            connection: AsyncMutex::default(),
            machine: Mutex::default(),
            owner: Mutex::default(),
            is_ending: AtomicBool::new(false),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            given: Mutex::default(),
            warnings,
        }
    }

    /// Returns the shared state of the client.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the sandbox as it was last read.
    pub fn stored(&self) -> StoredSandbox {
        let stored = self.stored.read().unwrap_or_else(PoisonError::into_inner);
        stored.clone()
    }

    /// Replaces the sandbox's description, which has changed.
    pub fn replace(&self, stored: StoredSandbox) {
        let mut current = self.stored.write().unwrap_or_else(PoisonError::into_inner);
        *current = stored;
    }

    /// Returns the warnings of the operation that made the handle.
    pub fn warnings(&self) -> &[Notice] {
        &self.warnings
    }

    /// Returns the name of the sandbox.
    pub fn name(&self) -> String {
        self.stored().spec.name
    }

    fn id(&self) -> String {
        self.stored().spec.id.to_string()
    }

    /// Waits until no change of the sandbox goes on without its caller.
    pub async fn settled(&self) {
        self.shared.unfinished().settled(&self.id()).await;
    }

    /// Returns an operation that changes the sandbox: dropped after it has begun, it is done nevertheless,
    /// and later calls on the sandbox wait for that.
    pub fn change<T, F>(
        self: &Arc<Self>,
        effect: Effect,
        work: impl FnOnce(Arc<Self>) -> F + Send + 'static,
    ) -> Operation<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let handle = Arc::clone(self);
        Operation::new(async move {
            let shared = Arc::clone(&handle.shared);
            let id = handle.id();
            shared.unfinished().settled_for(&id, effect).await;
            shared.unfinished().change(&id, effect, work(handle)).await
        })
    }

    /// Keeps a machine that this process started: its connection, and its process until it has
    /// ended, so that no zombie is left.
    pub async fn keep(&self, running: Running) {
        *self.connection.lock().await = Some(running.client());
        let (sender, end) = watch::channel(None);
        tokio::spawn(async move {
            let ended = running.ended().await.map_err(|error| error.to_string());
            // The handle may be gone.
            let _ = sender.send(Some(ended));
        });
        *self.machine.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }

    /// Waits until the machine that this process started has ended. An error says that it did not
    /// end cleanly. `None` if this process started no machine.
    pub async fn machine_end(&self) -> Option<Result<(), String>> {
        let machine = {
            let machine = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
            machine.clone()
        };
        let mut machine = machine?;
        let end = machine.wait_for(Option::is_some).await;
        end.ok()?.clone()
    }

    /// Returns the values of secrets for the first start.
    pub fn given(&self) -> GivenValues {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.clone()
    }

    /// Replaces the values of secrets for the first start.
    pub fn give(&self, values: GivenValues) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = values;
    }

    /// Makes the handle the owner of the sandbox.
    pub fn set_owner(&self, owner: Owner) {
        *self.owner.lock().unwrap_or_else(PoisonError::into_inner) = Some(owner);
    }

    /// Returns the owner, which the handle has no more.
    pub fn take_owner(&self) -> Option<Owner> {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        owner.take()
    }

    /// Takes the ownership of a sandbox whose scope ends.
    pub fn end_scope(&self) -> Option<Owner> {
        let owner = self.take_owner();
        self.is_ending.fetch_or(owner.is_some(), Ordering::Relaxed);
        owner
    }

    /// Returns the error of a command that the end of the sandbox's scope has killed; `None` if it
    /// ended for another reason.
    pub(crate) fn killed_by_end(&self, exit: &Exit) -> Option<Error> {
        // The guest's agent signals every process when it shuts down.
        let was_signalled = exit.signal.is_some() && self.is_ending.load(Ordering::Relaxed);
        was_signalled.then(|| self.ended())
    }

    /// Returns true if the handle owns the sandbox.
    pub fn is_owned(&self) -> bool {
        let owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        owner.is_some()
    }

    /// Returns a connection with the running sandbox. Calls share it, unless the sandbox ends when
    /// no client is connected.
    pub async fn connect(&self) -> Result<Client, Error> {
        let shared = &self.shared;
        shared.unfinished().guest_settled(&self.id()).await;
        let stored = self.stored();
        if stored.spec.lifetime.idle_timeout_s.is_some() {
            return Ok(stored.connect().await?);
        }
        let mut connection = self.connection.lock().await;
        if let Some(client) = connection.as_ref().filter(|client| !client.is_closed()) {
            return Ok(client.clone());
        }
        *connection = None;
        let client = stored.connect().await?;
        *connection = Some(client.clone());
        Ok(client)
    }

    /// Returns a permit for a call that lasts, and waits for it.
    pub(crate) async fn stream_permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        let permit = Arc::clone(&self.streams).acquire_owned().await;
        permit.map_err(|_| Error::internal("the sandbox's handle is closed"))
    }

    /// Drops the connection.
    pub async fn disconnect(&self) {
        *self.connection.lock().await = None;
    }

    /// Returns the error of a call, or of the sandbox's end if that is what broke the call.
    pub async fn explain(&self, error: impl Into<Error>) -> Error {
        let error = error.into();
        if error.kind() == ErrorKind::SandboxPaused {
            let name = self.name();
            return ConnectError::Paused { name }.into();
        }
        if error.kind() != ErrorKind::InternalError {
            return error;
        }
        if self.is_ending.load(Ordering::Relaxed) || self.has_ended().await {
            return self.ended();
        }
        error
    }

    /// Returns the error that the sandbox ended during a call.
    pub(crate) fn ended(&self) -> Error {
        let stored = self.stored();
        let message = "the sandbox ended before its command did";
        Error::new(ErrorKind::SandboxEnded, message)
            .with_detail("name", stored.spec.name.as_str())
            .with_last_words(stored.log_tail())
    }

    /// Returns true if the sandbox has ended, or does so within a moment.
    async fn has_ended(&self) -> bool {
        let deadline = Instant::now() + END_TIMEOUT;
        loop {
            match self.state().await {
                Ok(State::Running | State::Paused) => {}
                Ok(State::Created | State::Stopped) => return true,
                Err(_) => return false,
            }
            if Instant::now() >= deadline {
                return false;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns the state of the sandbox.
    pub async fn state(&self) -> Result<State, Error> {
        let stored = self.stored();
        blocking(move || stored.state()).await
    }

    /// Fails unless the sandbox is running.
    pub async fn expect_running(&self) -> Result<(), Error> {
        if self.state().await?.is_up() {
            return Ok(());
        }
        let name = self.name();
        Err(ConnectError::NotRunning { name }.into())
    }
}
