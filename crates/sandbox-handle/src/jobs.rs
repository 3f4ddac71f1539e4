use std::sync::Arc;
use std::time::Duration;

use msb_client::{Error, ErrorKind, Exit, Operation, Signal, Text, blocking};
use msb_runtime::JobCondition;
use serde::{Deserialize, Serialize};

use crate::exec::message;
use crate::recording::Recording;
use crate::{ExecOptions, ExecRequest, Handle, LogsRequest};

/// The interval at which a job's state is read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The jobs of a sandbox: commands that run without a client. Their output and their exit are kept.
///
/// ```no_run
/// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
/// let job = sandbox.jobs().start(["make"]).await?;
/// println!("{}", job.wait().await?.code);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Jobs {
    handle: Arc<Handle>,
}

/// The state of a job, with the keys of `msb jobs --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobInfo {
    /// The job's number in this run of the sandbox, from 1.
    pub id: u64,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The user that the job runs as, `user[:group]`; root if empty.
    pub user: String,
    /// The process id in the guest; `None` until the job runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The start time, in seconds since the epoch.
    pub started_s: u64,
    /// True if the job is running.
    pub running: bool,
    /// The job's exit; `None` while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
}

impl From<JobCondition> for JobInfo {
    fn from(condition: JobCondition) -> Self {
        Self {
            id: condition.job.id,
            argv: condition.job.argv,
            user: condition.job.user,
            pid: condition.job.pid,
            started_s: condition.job.started_s,
            running: condition.running,
            exit: condition.exit.map(Into::into),
        }
    }
}

impl Jobs {
    /// Returns the jobs of a sandbox.
    pub const fn new(handle: Arc<Handle>) -> Self {
        Self { handle }
    }

    /// Starts a job.
    ///
    /// # Errors
    /// [`NotRunning`](ErrorKind::NotRunning) if the sandbox does not run.
    pub fn start<T: Into<Text>>(&self, argv: impl IntoIterator<Item = T>) -> ExecRequest<Job> {
        ExecRequest::job(Arc::clone(&self.handle), argv)
    }

    /// Starts a job with these options.
    ///
    /// # Errors
    /// Fails as [`start`](Self::start) does, and with [`InvalidArgument`](ErrorKind::InvalidArgument)
    /// for standard input, which a job does not have, and a timeout.
    pub fn start_with(&self, options: ExecOptions) -> Operation<Job> {
        start(Arc::clone(&self.handle), options)
    }

    /// Returns the jobs of the last or current run of the sandbox, oldest first.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn list(&self) -> Operation<Vec<JobInfo>> {
        let handle = Arc::clone(&self.handle);
        Operation::new(async move {
            let stored = handle.stored();
            let jobs = blocking(move || stored.jobs()).await?;
            Ok(jobs.into_iter().map(JobInfo::from).collect())
        })
    }

    /// Returns the job with this number, which is not looked for yet.
    pub fn job(&self, id: u64) -> Job {
        Job {
            handle: Arc::clone(&self.handle),
            id,
        }
    }
}

/// One job of a sandbox.
#[derive(Debug, Clone)]
pub struct Job {
    handle: Arc<Handle>,
    id: u64,
}

impl Job {
    /// Returns the job's number in this run of the sandbox.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// Returns the state of the job.
    ///
    /// # Errors
    /// [`JobNotFound`](ErrorKind::JobNotFound).
    pub fn inspect(&self) -> Operation<JobInfo> {
        let (handle, id) = (Arc::clone(&self.handle), self.id);
        Operation::new(async move { find(&handle, id).await })
    }

    /// Waits until the job has ended.
    ///
    /// # Errors
    /// [`JobNotFound`](ErrorKind::JobNotFound).
    pub fn wait(&self) -> Operation<Exit> {
        let (handle, id) = (Arc::clone(&self.handle), self.id);
        Operation::new(async move {
            loop {
                if let Some(exit) = find(&handle, id).await?.exit {
                    return Ok(exit);
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        })
    }

    /// Sends a signal to the job and what it started; [`Signal::KILL`] kills it.
    ///
    /// # Errors
    /// [`JobNotFound`](ErrorKind::JobNotFound), or [`NotRunning`](ErrorKind::NotRunning) if it has
    /// ended.
    pub fn signal(&self, signal: Signal) -> Operation<()> {
        let (handle, id) = (Arc::clone(&self.handle), self.id);
        Operation::new(async move {
            let name = handle.name();
            if !find(&handle, id).await?.running {
                let message = format!("job {id} of sandbox {name} is not running");
                return Err(Error::new(ErrorKind::NotRunning, message).with_detail("id", id));
            }
            let mut client = handle.connect().await?;
            match client.signal_job(id, signal.number()).await {
                Ok(()) => Ok(()),
                Err(error) => Err(handle.explain(error).await),
            }
        })
    }

    /// Kills the job and what it started.
    ///
    /// # Errors
    /// Fails as [`signal`](Self::signal) does.
    pub fn kill(&self) -> Operation<()> {
        self.signal(Signal::KILL)
    }

    /// Returns the log of the job's output.
    pub fn logs(&self) -> LogsRequest {
        LogsRequest::new(Arc::clone(&self.handle)).job(self.id)
    }
}

pub(crate) fn start(handle: Arc<Handle>, options: ExecOptions) -> Operation<Job> {
    Operation::new(async move {
        if options.stdin || options.timeout_ms.is_some() {
            let message = "a job has neither standard input nor a timeout";
            return Err(Error::invalid(message));
        }
        let exec = message(&handle.stored().spec.process, &options)?;
        let mut client = handle.connect().await?;
        let recording = Recording::begin(&handle, &client, &options).await?;
        match client.start_job(exec).await {
            Ok(id) => {
                recording.runs_as_job(id).await;
                Ok(Job { handle, id })
            }
            Err(error) => Err(recording.failed(handle.explain(error).await).await),
        }
    })
}

async fn find(handle: &Handle, id: u64) -> Result<JobInfo, Error> {
    let stored = handle.stored();
    let name = stored.spec.name.clone();
    let job = blocking(move || stored.job(id)).await?;
    job.map(JobInfo::from).ok_or_else(|| {
        let message = format!("sandbox {name} has no job {id}");
        Error::new(ErrorKind::JobNotFound, message)
            .with_detail("name", name)
            .with_detail("id", id)
    })
}
