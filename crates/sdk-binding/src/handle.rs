use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::task::JoinError;

use crate::answer::Answer;
use crate::call_guard::CallGuard;
use crate::client::Client;
use crate::failure::Failure;
use crate::object::Target;
use crate::table;

/// One object on which operations are called: the client, a sandbox, a process, a stream.
///
/// Clones share the object. It is given up with [`Handle::close`], or when the last clone is
/// dropped.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<HandleShared>,
}

/// The result of an operation.
#[derive(Debug)]
pub struct Reply {
    /// The value, as JSON; `null` if the operation has none, and at the end of a stream.
    pub value: String,
    /// Bulk data of the operation: the content of a file, the output of a command.
    pub content: Vec<Bytes>,
    /// The object that the operation made; `None` if it makes none.
    pub handle: Option<Handle>,
}

/// The part of a handle that its clones share.
pub(crate) struct HandleShared {
    client: Client,
    kind: &'static str,
    /// `None` after the handle was closed.
    target: Mutex<Option<Target>>,
}

impl Handle {
    /// Returns the handle of an object; without an object it is closed.
    pub(crate) fn new(client: Client, target: Option<Target>) -> Self {
        let shared = Arc::new(HandleShared {
            kind: target.as_ref().map_or("client", Target::kind),
            client: client.clone(),
            target: Mutex::new(target),
        });
        client.register(&shared);
        Self { shared }
    }

    /// Runs an operation. Dropping the future cancels the operation: a command is killed, a start
    /// is undone.
    ///
    /// The operation begins with the call, not with the first poll, and runs on the client's
    /// runtime; any executor may poll the future.
    ///
    /// # Errors
    ///
    /// The operation fails, does not exist or has other parameters; the handle or the client is
    /// closed; the process was forked from the client's own.
    pub fn call(
        &self,
        operation: &str,
        parameters: &str,
        content: Vec<Bytes>,
    ) -> impl Future<Output = Result<Reply, Failure>> + Send + 'static {
        let begun = self.begin(operation, parameters, content);
        let client = self.shared.client.clone();
        let operation = operation.to_owned();
        async move {
            let answer = begun?.await.map_err(|error| ended(&operation, error))??;
            Ok(Reply {
                value: answer.value,
                content: answer.content,
                handle: answer.target.map(|target| Self::new(client, Some(target))),
            })
        }
    }

    fn begin(
        &self,
        operation: &str,
        parameters: &str,
        content: Vec<Bytes>,
    ) -> Result<CallGuard<Result<Answer, Failure>>, Failure> {
        // First: in a forked process every lock may be held by a thread that does not exist.
        self.shared.client.check()?;
        let target = self.target()?;
        let running = table::begin(target, operation, parameters, content)?;
        Ok(CallGuard::new(self.shared.client.runtime().spawn(running)))
    }

    fn target(&self) -> Result<Target, Failure> {
        let target = self.shared.lock().clone();
        target.ok_or_else(|| Failure::closed(self.shared.kind))
    }

    /// Gives the object up without waiting: an owned sandbox ends, a process is killed, a stream is
    /// closed. Calls that run keep the object until they end; later calls fail.
    pub fn close(&self) {
        self.shared.close();
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Handle({})", self.shared.kind)
    }
}

impl HandleShared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Target>> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn close(&self) {
        if self.client.is_forked() {
            return;
        }
        let target = self.lock().take();
        if let Some(target) = target {
            self.client.give_up(target);
        }
    }
}

impl Drop for HandleShared {
    fn drop(&mut self) {
        if self.client.is_forked() {
            // The objects are those of the parent process, and so are the threads that serve them.
            let target = self
                .target
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(target.take());
        } else {
            self.close();
        }
    }
}

/// Returns the failure of an operation whose task did not end by itself.
fn ended(operation: &str, error: JoinError) -> Failure {
    match error.try_into_panic() {
        Ok(payload) => Failure::panicked(operation, panic_text(payload.as_ref())),
        // Only the end of the runtime cancels a task whose future is still awaited.
        Err(_cancelled) => Failure::client_closed(),
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}
