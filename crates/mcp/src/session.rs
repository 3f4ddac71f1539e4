//! A session: the sandboxes of one client, and what it may do with them.

mod options;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use msb_sdk::{
    BranchOptions, ErrorKind, Force, ForkOptions, Msb, Operation, Sandbox, SandboxFilter,
    SandboxInfo,
};
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncGuard, Semaphore, SemaphorePermit};
use tokio::task::JoinSet;
use tokio::time::timeout;

pub(crate) use options::{Reach, Staged, Wanted};

use crate::call::Call;
use crate::failure::{Failure, Stop};
use crate::held_plan::HeldPlan;
use crate::pull_progress::PullProgress;
use crate::{Settings, roots};

/// The label that each sandbox of a session has, with the session's id.
pub(crate) const LABEL: &str = "msb.mcp";
/// The most calls that are worked on at once; others wait.
const CALLS_MAX: u16 = 16;
/// The time that calls have to end themselves when the client has gone.
const CALLS_TIMEOUT: Duration = Duration::from_secs(5);
/// The time that the removal of sandboxes may take at the end.
const END_TIMEOUT: Duration = Duration::from_secs(60);

/// The sandboxes of one client.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) msb: Msb,
    pub(crate) settings: Settings,
    /// The changes for the host that the client has seen.
    pub(crate) plan: HeldPlan,
    id: String,
    /// The sandboxes that the session has created, the oldest first. Handles that own theirs do so until the end.
    own: Mutex<Vec<Sandbox>>,
    /// One sandbox is created at a time, so that the most of them holds.
    creating: AsyncMutex<()>,
    created: AtomicU32,
    calls: Semaphore,
}

/// A sandbox that was just created.
#[derive(Debug)]
pub(crate) struct Created {
    pub(crate) sandbox: Sandbox,
    /// The directories of the host that it has staged.
    pub(crate) staged: Vec<Staged>,
}

/// The turn to create a sandbox.
type Turn<'a> = AsyncGuard<'a, ()>;

impl Session {
    pub(crate) fn new(msb: Msb, settings: Settings) -> Self {
        Self {
            msb,
            settings,
            plan: HeldPlan::default(),
            id: format!("{:016x}", fastrand::u64(..)),
            own: Mutex::default(),
            creating: AsyncMutex::default(),
            created: AtomicU32::new(0),
            calls: Semaphore::new(usize::from(CALLS_MAX)),
        }
    }

    /// Waits until a call may be worked on.
    pub(crate) async fn turn(&self, call: &Call) -> Result<SemaphorePermit<'_>, Stop> {
        tokio::select! {
            biased;
            () = call.cancelled() => Err(Stop::Cancelled),
            permit = self.calls.acquire() => permit.map_err(|_| Stop::Cancelled),
        }
    }

    /// Returns the sandbox with this name, or the session's first one without a name. If the session has none and
    /// a default image, it is created.
    pub(crate) async fn sandbox(&self, call: &Call, name: Option<&str>) -> Result<Sandbox, Stop> {
        if let Some(name) = name {
            return call.watched(|| None, self.named(name)).await;
        }
        if let Some(first) = self.first() {
            return Ok(first);
        }
        if self.settings.images.is_empty() {
            let failure = Failure::new(
                ErrorKind::SandboxNotFound,
                "this session has no sandbox yet",
            );
            return Err(failure.with_hint("create one with sandbox_create").into());
        }
        let turn = self.creating_turn(call).await?;
        match self.first() {
            Some(first) => Ok(first),
            None => {
                let created = self.create_in_turn(&turn, call, Wanted::default()).await?;
                Ok(created.sandbox)
            }
        }
    }

    async fn named(&self, name: &str) -> Result<Sandbox, Stop> {
        let own = self.own().iter().find(|own| own.name() == name).cloned();
        if let Some(own) = own {
            return Ok(own);
        }
        // A sandbox of another session is not told from one that does not exist.
        let found = match self.msb.sandboxes().get(name).await {
            Ok(found) => found,
            Err(error) if error.is(ErrorKind::NotFound) => return Err(not_found(name).into()),
            Err(error) => return Err(error.into()),
        };
        if self.settings.sees_all || self.is_of_session(&found).await? {
            return Ok(found);
        }
        Err(not_found(name).into())
    }

    async fn is_of_session(&self, sandbox: &Sandbox) -> Result<bool, Stop> {
        let info = sandbox.inspect().await?;
        Ok(info.labels.get(LABEL) == Some(&self.id))
    }

    /// Creates a sandbox and starts it.
    pub(crate) async fn create(&self, call: &Call, wanted: Wanted) -> Result<Created, Stop> {
        let turn = self.creating_turn(call).await?;
        self.create_in_turn(&turn, call, wanted).await
    }

    async fn create_in_turn(
        &self,
        _turn: &Turn<'_>,
        call: &Call,
        wanted: Wanted,
    ) -> Result<Created, Stop> {
        self.check_room()?;
        let directories = self.directories(call).await?;
        let mut options = options::of(&self.settings, &wanted, &directories)?;
        options.name = Some(self.next_name());
        options.labels.insert(LABEL.to_owned(), self.id.clone());
        let staged = Staged::of(&options.mounts);
        let progress = Arc::new(PullProgress::default());
        let noted = Arc::clone(&progress);
        let request = self.msb.sandboxes().run("").with_options(options);
        let mut request = request.watch_pull(move |event| noted.note(&event));
        if !self.settings.removes {
            request = request.detached();
        }
        let starting = async { Ok::<_, Stop>(request.await?) };
        let sandbox = call.watched(|| Some(progress.message()), starting).await?;
        self.own().push(sandbox.clone());
        Ok(Created { sandbox, staged })
    }

    /// Creates a sandbox that begins with the files of another one, and starts it.
    pub(crate) async fn fork(
        &self,
        call: &Call,
        source: &Sandbox,
        snapshot: Option<String>,
    ) -> Result<Sandbox, Stop> {
        let _turn = self.creating_turn(call).await?;
        self.check_room()?;
        let (name, start) = (self.next_name(), self.settings.template.start.clone());
        let forking = async {
            if self.settings.removes {
                let mut options = BranchOptions::default().name(name);
                (options.snapshot, options.start) = (snapshot, start);
                return Ok(source.branch(options).await?);
            }
            let mut options = ForkOptions::default();
            (options.names, options.snapshot) = (vec![name], snapshot);
            let fork = source.fork(options).await?.into_iter().next();
            let missing = || Failure::new(ErrorKind::InternalError, "no fork was made");
            let fork = fork.ok_or_else(missing)?;
            fork.start_with(start).await?;
            Ok::<_, Stop>(fork)
        };
        let fork = call.watched(|| None, forking).await?;
        self.own().push(fork.clone());
        Ok(fork)
    }

    /// Does what needs a running sandbox. One of the session that has stopped, as it does after a time without use,
    /// is started for it.
    pub(crate) async fn running<T: Send>(
        &self,
        call: &Call,
        sandbox: &Sandbox,
        act: impl Fn() -> Operation<T> + Send + Sync,
    ) -> Result<T, Stop> {
        let acting = async {
            match act().await {
                Err(error) if error.kind() == ErrorKind::NotRunning && self.is_own(sandbox) => {}
                outcome => return Ok(outcome?),
            }
            let start = self.settings.template.start.clone();
            match sandbox.start_with(start).await {
                Err(error) if error.kind() != ErrorKind::SandboxRunning => return Err(error.into()),
                _ => {}
            }
            Ok::<_, Stop>(act().await?)
        };
        call.watched(|| None, acting).await
    }

    /// Removes a sandbox, running or not.
    pub(crate) async fn remove(&self, call: &Call, sandbox: &Sandbox) -> Result<(), Stop> {
        self.plan.clear();
        call.awaited(sandbox.remove(Force::Yes)).await?;
        self.own().retain(|own| own != sandbox);
        Ok(())
    }

    /// Returns the sandboxes that the client sees.
    pub(crate) async fn list(&self) -> Result<Vec<SandboxInfo>, Stop> {
        let mut filter = SandboxFilter::all();
        if !self.settings.sees_all {
            filter = filter.label(LABEL, &self.id);
        }
        Ok(self.msb.sandboxes().list(filter).await?)
    }

    /// Ends the session: its sandboxes are removed if they are to be. Those that are left stop when they have not been
    /// used for a time.
    pub(crate) async fn end(&self) {
        // Calls end because their client has gone; the commands that they wait for end with them.
        let _ = timeout(CALLS_TIMEOUT, self.calls.acquire_many(u32::from(CALLS_MAX))).await;
        self.plan.clear();
        let own = std::mem::take(&mut *self.own());
        let mut closing = JoinSet::new();
        for sandbox in own {
            // The handle of a sandbox that is left owns nothing.
            closing.spawn(async move { sandbox.close().await });
        }
        let ending = async {
            while closing.join_next().await.is_some() {}
            self.msb.settled().await
        };
        // What is not removed now is removed by the next listing or start of any client.
        let _ = timeout(END_TIMEOUT, ending).await;
    }

    /// Returns the directories of the host that a new sandbox has staged.
    async fn directories(&self, call: &Call) -> Result<Vec<PathBuf>, Stop> {
        let settings = &self.settings;
        if !settings.directories.is_empty() || !settings.uses_roots {
            return Ok(settings.directories.clone());
        }
        let uris = call.roots().await?;
        Ok(roots::directories(&uris, &roots::kept(self.msb.home())))
    }

    async fn creating_turn(&self, call: &Call) -> Result<Turn<'_>, Stop> {
        call.watched(|| None, async { Ok(self.creating.lock().await) })
            .await
    }

    fn check_room(&self) -> Result<(), Failure> {
        let most = self.settings.sandboxes_max;
        if self.own().len() < most {
            return Ok(());
        }
        let message = format!("this session has {most} sandboxes, the most that it may have");
        Err(Failure::new(ErrorKind::Busy, message)
            .with_hint("use one of them, or remove one with sandbox_remove"))
    }

    fn next_name(&self) -> String {
        let number = self
            .created
            .fetch_add(1, Ordering::Relaxed)
            .saturating_add(1);
        let beginning = self.id.get(..8).unwrap_or(&self.id);
        format!("mcp-{beginning}-{number}")
    }

    fn first(&self) -> Option<Sandbox> {
        self.own().first().cloned()
    }

    fn is_own(&self, sandbox: &Sandbox) -> bool {
        self.own().contains(sandbox)
    }

    fn own(&self) -> MutexGuard<'_, Vec<Sandbox>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_found(name: &str) -> Failure {
    let name = terminal_text::escaped(name);
    let message = format!("no such sandbox in this session: {name}");
    Failure::new(ErrorKind::SandboxNotFound, message)
        .with_hint("list the sandboxes with sandbox_list; names are given by sandbox_create")
}
