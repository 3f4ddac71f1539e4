//! Commands that run without a client.
//! Each has a directory, `jobs/<number>/`, with its description, its output and its exit.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable_files::now_s;
use fs_err as fs;
use msb_agent_protocol::v1::Exec;
use msb_agent_protocol::{Bytes, Client, Command, Control, Output, Status};
use msb_machine_records::{Exit, LogStream, LogWriter};
use msb_runtime::{Job, JobPaths};
use tokio::sync::watch;

use super::call_timeout::answered;
use super::main_command::{keep, own};
use crate::log::log_line;

/// Maximum number of jobs that run at once.
const RUNNING_MAX: usize = 256;
/// Number of jobs that are kept. A new job removes the one this many numbers before it, if it has
/// ended.
const KEPT_MAX: u64 = 256;
/// Maximum size of one file of a job's log, in bytes.
const LOG_MAX_BYTES: u64 = 1 << 20;

/// A running job, which is counted from before it begins until this is dropped, in whatever way.
#[derive(Debug)]
struct Counted(watch::Sender<usize>);

impl Counted {
    /// Counts a job; `None` if as many run as may.
    fn new(running: &watch::Sender<usize>) -> Option<Self> {
        let has_room = running.send_if_modified(|count| {
            let has_room = *count < RUNNING_MAX;
            *count += usize::from(has_room);
            has_room
        });
        has_room.then(|| Self(running.clone()))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The jobs of a sandbox. Clones share their state.
#[derive(Debug, Clone)]
pub(super) struct Jobs {
    agent: Client,
    directory: PathBuf,
    last_id: Arc<AtomicU64>,
    running: watch::Sender<usize>,
    /// The controls through which running jobs get signals, by job number.
    controls: Arc<Mutex<HashMap<u64, Control>>>,
}

impl Jobs {
    pub(super) fn new(agent: Client, directory: PathBuf) -> Self {
        Self {
            agent,
            directory,
            last_id: Arc::default(),
            running: watch::Sender::new(0),
            controls: Arc::default(),
        }
    }

    /// Starts a job and returns its number.
    pub(super) async fn start(&self, mut exec: Exec) -> Result<u64, Status> {
        let Some(counted) = Counted::new(&self.running) else {
            return Err(Status::resource_exhausted(format!(
                "{RUNNING_MAX} jobs are running, which is the limit"
            )));
        };
        exec.stdin = false;
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let text = |word: &Bytes| String::from_utf8_lossy(word).into_owned();
        let job = Job {
            id,
            argv: exec.argv.iter().map(text).collect(),
            user: exec.user.clone(),
            pid: None,
            started_s: now_s(),
        };
        let jobs = self.clone();
        // The job begins, and its exit is recorded, even if the client disconnects meanwhile.
        let begun = tokio::spawn(async move { jobs.begin(job, exec, counted).await });
        let failed = |_| Err(Status::internal("the sandbox's process failed"));
        begun.await.unwrap_or_else(failed)?;
        Ok(id)
    }

    /// Sends a signal to a running job.
    pub(super) async fn signal(&self, id: u64, signal: i32) -> Result<(), Status> {
        let control = self.controls().get(&id).cloned();
        let mut control =
            control.ok_or_else(|| Status::not_found(format!("job {id} is not running")))?;
        answered(self.agent.heartbeat(), async {
            let sent = control.signal(signal).await;
            sent.map_err(|error| Status::failed_precondition(error.to_string()))
        })
        .await
    }

    fn controls(&self) -> MutexGuard<'_, HashMap<u64, Control>> {
        self.controls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn begin(&self, mut job: Job, exec: Exec, counted: Counted) -> Result<(), Status> {
        let files = JobPaths::new(&self.directory, job.id);
        let log = self.prepare(&files, &job);
        let log = log.map_err(|error| Status::internal(format!("cannot record a job: {error}")))?;
        let mut agent = self.agent.clone();
        let command = answered(self.agent.heartbeat(), async {
            let command = agent.exec(exec).await;
            command.map_err(|error| Status::failed_precondition(error.to_string()))
        });
        let command = command.await.inspect_err(|_| {
            // A job that never ran leaves no directory.
            let _ = fs::remove_dir_all(&files.directory);
        })?;
        job.pid = Some(command.pid);
        if let Err(error) = describe(&files, &job) {
            // The job runs all the same, and its number is enough to signal it.
            log_line(&error.to_string());
        }
        self.controls().insert(job.id, command.control.clone());
        let jobs = self.clone();
        tokio::spawn(async move {
            let exit = attend(command, Ok(log)).await;
            jobs.controls().remove(&job.id);
            if let Err(error) = exit.write(&files.exit()) {
                log_line(&error.to_string());
            }
            drop(counted);
        });
        Ok(())
    }

    fn prepare(&self, files: &JobPaths, job: &Job) -> io::Result<LogWriter> {
        if let Some(old) = job.id.checked_sub(KEPT_MAX) {
            let old = JobPaths::new(&self.directory, old);
            if Exit::read(&old.exit()).is_some() {
                fs::remove_dir_all(&old.directory)?;
            }
        }
        durable_files::ensure_directory(&files.directory)?;
        describe(files, job)?;
        LogWriter::with_limit(&files.output_log(), LOG_MAX_BYTES)
    }

    /// Returns the number of running jobs, as it changes.
    pub(super) fn running(&self) -> watch::Receiver<usize> {
        self.running.subscribe()
    }

    /// Waits until the exits of all jobs have been written.
    pub(super) async fn all_noted(&self) {
        let _ = self.running.subscribe().wait_for(|&count| count == 0).await;
    }
}

fn describe(files: &JobPaths, job: &Job) -> io::Result<()> {
    durable_files::publish_bytes(&files.job(), &serde_json::to_vec_pretty(job)?)
}

async fn attend(command: Command, mut log: io::Result<LogWriter>) -> Exit {
    drop(command.inputs);
    let mut outputs = command.outputs;
    loop {
        match outputs.next().await {
            Ok(Some(Output::Stdout(bytes))) => keep(&mut log, LogStream::Stdout, &bytes),
            Ok(Some(Output::Stderr(bytes))) => keep(&mut log, LogStream::Stderr, &bytes),
            Ok(Some(Output::Exited(status))) => return Exit::from_status(own(status)),
            Ok(None) => return Exit::failed(&msb_agent_protocol::ClientError::OutOfTurn),
            Err(error) => return Exit::failed(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// The time for a task to run.
    const SOON: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_job_whose_client_disconnects_is_not_counted_for_ever() {
        let directory = tempfile::tempdir().expect("a directory");
        let (stream, silent_agent) = tokio::io::duplex(1 << 16);
        let agent = Client::connect_without_limit(stream)
            .await
            .expect("connected");
        let jobs = Jobs::new(agent, directory.path().to_owned());
        let exec = Exec {
            argv: vec![Bytes::from_static(b"true")],
            ..Exec::default()
        };
        let mut running = jobs.running();
        // The request is dropped while the agent has not answered.
        let begun = timeout(Duration::from_millis(100), jobs.start(exec.clone())).await;
        assert!(begun.is_err(), "{begun:?}");
        assert_eq!(*running.borrow(), 1);
        drop(silent_agent);
        let ended = timeout(SOON, running.wait_for(|&count| count == 0)).await;
        ended
            .expect("it is not counted any more")
            .expect("it lives");
        timeout(SOON, jobs.all_noted())
            .await
            .expect("nothing is awaited");
        jobs.start(exec).await.expect_err("the agent is gone");
        assert_eq!(*running.borrow(), 0);
    }

    #[test]
    fn as_many_jobs_run_as_may() {
        let running = watch::Sender::new(0);
        let mut counted: Vec<_> = (0..RUNNING_MAX)
            .map(|_| Counted::new(&running).expect("there is room"))
            .collect();
        assert!(Counted::new(&running).is_none());
        counted.pop();
        assert!(Counted::new(&running).is_some());
        assert_eq!(*running.borrow(), RUNNING_MAX - 1);
    }
}
