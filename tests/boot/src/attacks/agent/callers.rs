use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use msb_agent_protocol::v1::ReadFileRequest;
use msb_agent_protocol::{Client, ClientError};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

/// The pause between two calls of the client that is only to be served.
const PAUSE: Duration = Duration::from_millis(50);
/// The timeout for a call that needs no agent.
const SERVED_TIMEOUT: Duration = Duration::from_secs(60);

/// Clients of a supervisor, on a thread of their own: some call the hostile agent, and one calls
/// only the supervisor.
pub(super) struct Callers {
    thread: JoinHandle<Result<Duration>>,
    is_over: Arc<AtomicBool>,
}

impl Callers {
    /// Starts this many calls of the agent, and a client that listens for questions. What they get is read if
    /// `reads` is true.
    pub(super) fn start(socket: PathBuf, calls: usize, reads: bool) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let until = is_over.clone();
        let thread = std::thread::spawn(move || {
            block_on(async {
                let listening = tokio::spawn(listen(connect(&socket).await?, reads));
                let mut calling = vec![listening];
                for _ in 0..calls {
                    calling.push(tokio::spawn(call(connect(&socket).await?, reads)));
                }
                let slowest = serve_meanwhile(&socket, &until).await;
                // Dropped here, so that the calls live until the attack is over.
                calling.iter().for_each(tokio::task::JoinHandle::abort);
                slowest
            })
        });
        Self { thread, is_over }
    }

    /// Ends the calls. Returns the longest time that a call of the supervisor itself has taken.
    pub(super) fn end(self) -> Result<Duration> {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.join();
        ended.map_err(|_| anyhow!("a client panicked"))?
    }
}

/// Calls `hello`, and returns its error and the time that it took.
pub(super) fn hello(socket: &Path) -> Result<(ClientError, Duration)> {
    block_on(async {
        let mut client = connect(socket).await?;
        let began = Instant::now();
        let answer = client.hello().await;
        let error = answer.err().context("a silent agent answered")?;
        Ok((error, began.elapsed()))
    })
}

/// Asks for the end of the sandbox, as `msb stop` does, and returns the error.
pub(super) fn shut_down(socket: &Path, grace: Duration) -> Result<ClientError> {
    block_on(async {
        let mut client = connect(socket).await?;
        let answer = client.shutdown(Some(grace), None).await;
        answer.err().context("the agent shut down")
    })
}

fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

async fn connect(socket: &Path) -> Result<Client> {
    let stream = UnixStream::connect(socket).await?;
    Ok(Client::connect(stream).await?)
}

/// Calls the agent, and reads the answers or leaves them.
async fn call(client: Client, reads: bool) {
    let answers = client.raw().read_file(ReadFileRequest::default()).await;
    let Ok(answers) = answers else {
        return;
    };
    let mut answers = answers.into_inner();
    while reads && matches!(answers.message().await, Ok(Some(_))) {}
    if !reads {
        std::future::pending::<()>().await;
    }
    drop(answers);
}

/// Listens for questions, and reads the events or leaves them.
async fn listen(mut client: Client, reads: bool) {
    let Ok(mut events) = client.watch_questions().await else {
        return;
    };
    while reads && matches!(events.next().await, Ok(Some(_))) {}
    if !reads {
        std::future::pending::<()>().await;
    }
    drop(events);
}

/// Calls the supervisor again and again. Returns the longest time that an answer took.
async fn serve_meanwhile(socket: &Path, is_over: &AtomicBool) -> Result<Duration> {
    let mut slowest = Duration::ZERO;
    let mut calls = 0;
    while calls == 0 || !is_over.load(Ordering::Relaxed) {
        let began = Instant::now();
        let answer = timeout(SERVED_TIMEOUT, async {
            let mut client = connect(socket).await?;
            anyhow::Ok(client.disk_errors().await?)
        });
        let errors = answer.await.context("another client is not served")??;
        ensure!(errors.len() <= 8, "{} disks failed", errors.len());
        slowest = slowest.max(began.elapsed());
        calls += 1;
        sleep(PAUSE).await;
    }
    Ok(slowest)
}
