use std::sync::Arc;
use std::time::Duration;

use msb_cancellation::Effect;
use msb_client::{Shared, blocking};
use msb_runtime::{
    ConnectError, Owner as MachineOwner, RemoveError, Running, Sandbox as StoredSandbox, StopSignal,
};
use msb_sandbox_files::finish_applying;
use msb_sandbox_handle::{Handle, Owner, Scope, kill_and_remove, sample};
use tokio::time::timeout;

use super::{Changes, MainCommand, SandboxInfo};
use crate::{
    Error, ErrorKind, Exit, Files, Force, Jobs, Lifetime, LogsRequest, Notice, Operation, Port,
    Snapshots, Stats, StatsWatch, Stopped,
};

/// The time that closing an owned sandbox may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// A sandbox: a virtual machine with an image, a writable disk and a name.
///
/// A handle from [`Sandboxes::run`](crate::Sandboxes::run) owns its sandbox, which is ended and
/// removed when the last clone of the handle is dropped; [`close`](Self::close) waits for that, and
/// [`detach`](Self::detach) keeps the sandbox. Other handles own nothing.
#[derive(Debug, Clone)]
pub struct Sandbox {
    handle: Arc<Handle>,
    _scope: Arc<Scope>,
}

impl Sandbox {
    pub(crate) fn kept(shared: Arc<Shared>, stored: StoredSandbox, warnings: Vec<Notice>) -> Self {
        let handle = Arc::new(Handle::new(shared, stored, warnings));
        let scope = Arc::new(Scope::new(Arc::clone(&handle)));
        Self {
            handle,
            _scope: scope,
        }
    }

    pub(super) async fn started(
        shared: Arc<Shared>,
        stored: StoredSandbox,
        running: Running,
        warnings: Vec<Notice>,
    ) -> Self {
        let sandbox = Self::kept(shared, stored, warnings);
        sandbox.handle.keep(running).await;
        sandbox
    }

    /// Lets this handle own the sandbox.
    pub(super) fn own(&self, owner: MachineOwner) {
        let cleanups = self.handle.shared().cleanups().clone();
        let owner = Owner::new(owner, self.handle.stored(), cleanups);
        self.handle.set_owner(owner);
    }

    pub(crate) fn run<T, F>(&self, work: impl FnOnce(Arc<Handle>) -> F) -> Operation<T>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let handle = Arc::clone(&self.handle);
        let work = work(Arc::clone(&handle));
        Operation::new(async move {
            handle.settled().await;
            work.await
        })
    }

    /// Returns the id.
    pub fn id(&self) -> String {
        self.handle.stored().spec.id.to_string()
    }

    /// Returns the name.
    pub fn name(&self) -> String {
        self.handle.name()
    }

    /// Returns the notices of the operation that returned this handle.
    pub fn warnings(&self) -> &[Notice] {
        self.handle.warnings()
    }

    /// Returns true if this handle owns the sandbox.
    pub fn is_owned(&self) -> bool {
        self.handle.is_owned()
    }

    /// Returns the main command, as it was last read.
    pub fn main_command(&self) -> MainCommand {
        MainCommand::from(&self.stored().spec.process)
    }

    /// Returns the limits after which the sandbox ends by itself, as they were last read.
    pub fn lifetime(&self) -> Lifetime {
        self.stored().spec.lifetime
    }

    /// Returns true if the sandbox is removed once it has stopped.
    pub fn is_removed_when_stopped(&self) -> bool {
        self.stored().spec.remove_when_stopped
    }

    /// Asks the guest to end its processes and to power off, and kills the machine if it does not.
    /// `grace` is the time for processes; the sandbox's own, 10 s unless it was given, if `None`.
    ///
    /// # Errors
    /// If the machine cannot be killed.
    pub fn stop(&self, grace: Option<Duration>) -> Operation<Stopped> {
        self.stop_with(grace, None)
    }

    /// Stops the sandbox like [`stop`](Self::stop), with this signal for the main command.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for an unknown signal.
    pub fn stop_with(&self, grace: Option<Duration>, signal: Option<String>) -> Operation<Stopped> {
        self.handle.change(Effect::End, move |handle| async move {
            let signal: Option<StopSignal> = signal.as_deref().map(str::parse).transpose()?;
            let stored = handle.stored();
            let own = Duration::from_secs(stored.spec.stopping.timeout_s);
            let stopped = stored.stop(grace.unwrap_or(own), signal).await;
            // A call on the old connection would fail as if it had been interrupted.
            handle.disconnect().await;
            match stopped {
                Ok(true) => Ok(Stopped::Cleanly),
                Ok(false) => Ok(Stopped::Killed),
                Err(ConnectError::NotRunning { .. }) => Ok(Stopped::NotRunning),
                Err(error) => Err(error.into()),
            }
        })
    }

    /// Ends the machine at once, as a power cut would.
    ///
    /// # Errors
    /// [`NotRunning`](ErrorKind::NotRunning).
    pub fn kill(&self) -> Operation<()> {
        self.handle.change(Effect::End, move |handle| async move {
            let killed = handle.stored().kill().await;
            handle.disconnect().await;
            Ok(killed?)
        })
    }

    /// Sends a signal to the main command, by its name or number.
    ///
    /// # Errors
    /// [`NotRunning`](ErrorKind::NotRunning), or
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for an unknown signal.
    pub fn signal(&self, signal: impl Into<String>) -> Operation<()> {
        let signal = signal.into();
        self.run(|handle| async move {
            let signal: StopSignal = signal.parse()?;
            match handle.stored().signal(signal).await {
                Ok(()) => Ok(()),
                Err(error) => Err(handle.explain(error).await),
            }
        })
    }

    /// Removes the sandbox with its disk. [`Force::Yes`] kills it first if it runs. An apply to its staged directories
    /// that was killed is finished.
    ///
    /// # Errors
    /// [`SandboxRunning`](ErrorKind::SandboxRunning).
    pub fn remove(&self, force: Force) -> Operation<()> {
        self.handle.change(Effect::End, move |handle| async move {
            let stored = handle.stored();
            let (home, mounts) = (handle.shared().home().clone(), stored.spec.mounts.clone());
            if force == Force::Yes {
                kill_and_remove(stored).await?;
            } else {
                blocking::<_, RemoveError>(move || stored.remove()).await?;
            }
            // An apply that cannot be finished is told by `msb doctor`.
            let _ = blocking(move || finish_applying(&home, &mounts)).await;
            if let Some(owner) = handle.take_owner() {
                owner.forget();
            }
            handle.disconnect().await;
            Ok(())
        })
    }

    /// Gives up the ownership: the sandbox goes on without this handle, and is kept.
    ///
    /// # Errors
    /// If the sandbox's description cannot be written, or its supervisor does not answer. The
    /// sandbox then ends.
    pub fn detach(&self) -> Operation<()> {
        self.handle
            .change(Effect::Slight, move |handle| async move {
                match handle.take_owner() {
                    Some(owner) => owner.release().await,
                    None => Ok(()),
                }
            })
    }

    /// Ends what the handle has: an owned sandbox is shut down, killed if it has not ended after 2 s,
    /// and removed; others are left unchanged. The second call does nothing.
    ///
    /// # Errors
    /// If the sandbox cannot be killed or removed.
    pub fn close(&self) -> Operation<()> {
        self.handle.change(Effect::End, move |handle| async move {
            handle.disconnect().await;
            let Some(owner) = handle.end_scope() else {
                return Ok(());
            };
            let name = handle.name();
            match timeout(CLOSE_TIMEOUT, owner.end()).await {
                Ok(ended) => {
                    // The process is reaped, so that no zombie is left.
                    let _ = timeout(CLOSE_TIMEOUT, handle.machine_end()).await;
                    ended
                }
                Err(_) => Err(Error::internal(format!(
                    "sandbox {name} was not removed within {} s",
                    CLOSE_TIMEOUT.as_secs()
                ))),
            }
        })
    }

    /// Waits until the sandbox does not run, and returns the exit of its main command; exit code 0
    /// if it has none.
    ///
    /// # Errors
    /// [`NotRunning`](ErrorKind::NotRunning) if its main command has never run.
    pub fn wait(&self) -> Operation<Exit> {
        self.run(|handle| async move {
            let stored = handle.stored();
            stored.wait().await?;
            let name = stored.spec.name.clone();
            let has_command = !stored.spec.process.argv.is_empty();
            let condition = blocking(move || stored.condition()).await?;
            match condition.exit {
                Some(exit) => Ok(exit.into()),
                None if !has_command => Ok(Exit::without_command()),
                None => Err(never_ran(&name)),
            }
        })
    }

    /// Returns the exit of the main command in the machine's last run; `None` if it has not ended.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn last_exit(&self) -> Operation<Option<Exit>> {
        self.run(|handle| async move {
            let stored = handle.stored();
            let exit = blocking(move || Ok::<_, Error>(stored.first_exit())).await?;
            Ok(exit.map(Exit::from))
        })
    }

    /// Returns the last lines that the virtual machine's process and its guest's kernel printed.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn last_words(&self) -> Operation<Vec<String>> {
        self.run(|handle| async move {
            let stored = handle.stored();
            blocking(move || Ok::<_, Error>(stored.log_tail())).await
        })
    }

    /// Returns the state that all handles of the sandbox share.
    pub(crate) fn handle(&self) -> Arc<Handle> {
        Arc::clone(&self.handle)
    }

    /// Returns the sandbox as it was last read.
    pub(crate) fn stored(&self) -> StoredSandbox {
        self.handle.stored()
    }

    /// Waits until the virtual machine's process that this handle started has ended.
    ///
    /// # Errors
    /// If it did not end cleanly.
    pub fn wait_for_machine(&self) -> Operation<()> {
        self.run(|handle| async move {
            match handle.machine_end().await {
                Some(Err(message)) => Err(Error::internal(message)),
                Some(Ok(())) | None => Ok(()),
            }
        })
    }

    /// Returns the description and the state of the sandbox.
    ///
    /// # Errors
    /// [`SandboxNotFound`](ErrorKind::SandboxNotFound) if it was removed.
    pub fn inspect(&self) -> Operation<SandboxInfo> {
        self.run(|handle| async move {
            let id = handle.stored().spec.id.to_string();
            let finding = handle
                .shared()
                .with_home(move |shared| super::find(shared, &id))
                .await;
            let stored = finding?;
            handle.replace(stored.clone());
            let reading = {
                let stored = stored.clone();
                blocking(move || SandboxInfo::read(&stored, stored.condition()?))
            };
            let mut info = reading.await?;
            info.ask_disk_errors(&stored).await;
            Ok(info)
        })
    }

    /// Changes the resources of the next start. A running machine is unchanged.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for a disk that would shrink.
    pub fn update(&self, changes: Changes) -> Operation<()> {
        self.handle
            .change(Effect::Slight, move |handle| async move {
                let changes = changes.checked()?;
                let mut stored = handle.stored();
                let stored = blocking(move || stored.update(changes).map(|()| stored)).await?;
                handle.replace(stored);
                Ok(())
            })
    }

    /// Gives the stopped sandbox another name.
    ///
    /// # Errors
    /// [`SandboxRunning`](ErrorKind::SandboxRunning), [`NameTaken`](ErrorKind::NameTaken).
    pub fn rename(&self, name: impl Into<String>) -> Operation<()> {
        let name = name.into();
        self.handle.change(Effect::Guest, move |handle| async move {
            let mut stored = handle.stored();
            let renaming = handle
                .shared()
                .with_home(move |shared| stored.rename(shared.home(), &name).map(|()| stored));
            handle.replace(renaming.await?);
            Ok(())
        })
    }

    /// Returns the published ports, with the ports that the host chose.
    ///
    /// # Errors
    /// [`NotRunning`](ErrorKind::NotRunning).
    pub fn ports(&self) -> Operation<Vec<Port>> {
        self.run(|handle| async move {
            handle.expect_running().await?;
            let stored = handle.stored();
            let ports = blocking(move || stored.published()).await?;
            Ok(ports.into_iter().map(Port::from).collect())
        })
    }

    /// Returns the commands that run without a client.
    pub fn jobs(&self) -> Jobs {
        Jobs::new(Arc::clone(&self.handle))
    }

    /// Returns the files. Those of a stopped sandbox can be read.
    pub fn files(&self) -> Files {
        Files::new(Arc::clone(&self.handle))
    }

    /// Returns the snapshots of the files.
    pub fn snapshots(&self) -> Snapshots {
        Snapshots::new(Arc::clone(&self.handle))
    }

    /// Returns the log of the main command's output.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let logs = sandbox.logs().follow(true).await?;
    /// while let Some(record) = logs.next().await? {
    ///     print!("{}", record.text());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn logs(&self) -> LogsRequest {
        LogsRequest::new(Arc::clone(&self.handle))
    }

    /// Returns the statistics of the running sandbox.
    ///
    /// # Errors
    /// [`NotRunning`](ErrorKind::NotRunning).
    pub fn stats(&self) -> Operation<Stats> {
        sample(Arc::clone(&self.handle))
    }

    /// Returns a stream of statistics, one sample in each interval, until the sandbox ends.
    pub fn watch_stats(&self, interval: Duration) -> StatsWatch {
        StatsWatch::new(Arc::clone(&self.handle), interval)
    }
}

impl PartialEq for Sandbox {
    /// Returns true if both are handles of one sandbox.
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

fn never_ran(name: &str) -> Error {
    let message = format!("sandbox {name} has not run a command");
    Error::new(ErrorKind::NotRunning, message).with_detail("name", name)
}
