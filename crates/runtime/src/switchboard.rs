//! Joins clients to the agent: what they ask on the sandbox's socket is passed on over the one
//! port, call by call.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use msb_agent_protocol::v1::sandbox_client::SandboxClient;
use msb_agent_protocol::v1::sandbox_server::Sandbox;
use msb_agent_protocol::v1::{
    Chunk, ExecEvent, ExecInput, GetArchiveRequest, HelloReply, HelloRequest, ListReply,
    ListRequest, MakeDirectoryReply, MakeDirectoryRequest, PutArchiveInput, PutArchiveReply,
    ReadFileRequest, RemoveReply, RemoveRequest, ResizeReply, ResizeRequest, ShutdownReply,
    ShutdownRequest, SignalReply, SignalRequest, StatReply, StatRequest,
};
use msb_agent_protocol::{
    Client, Connection, Request, Response, Status, Streaming, async_trait, serve,
};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio_stream::StreamExt as _;

use crate::first_command::{FirstCommand, attend};
use crate::output_log::LogWriter;
use crate::sandbox::Files;

/// How long a machine without anybody connected waits for somebody.
const OWNERLESS_LIMIT: Duration = Duration::from_secs(1);

/// What a machine lives for.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) files: Files,
    /// Somebody who is connected.
    pub(crate) end_with_owner: bool,
    /// A command that needs nobody.
    pub(crate) first_command: Option<FirstCommand>,
}

/// Serves clients until the process ends.
///
/// # Errors
/// When the guest's greeting does not come, or the listener fails.
pub(crate) async fn join_clients(
    listener: UnixListener,
    port: UnixStream,
    life: Life,
) -> io::Result<()> {
    let agent = Client::connect_port(port).await.map_err(io::Error::other)?;
    if let Some(first) = life.first_command {
        // Before any client is heard: whoever is, finds the command started or its end written.
        live_for(&first, agent.clone(), life.files).await?;
    }
    let (clients, watched) = watch::channel(0_usize);
    let clients = Arc::new(clients);
    if life.end_with_owner {
        tokio::spawn(end_when_ownerless(agent.clone(), watched));
    }
    let switchboard = Switchboard(agent.raw());
    loop {
        let (stream, _) = listener.accept().await?;
        let (switchboard, clients) = (switchboard.clone(), Arc::clone(&clients));
        clients.send_modify(|count| *count += 1);
        tokio::spawn(async move {
            // A client may hang up at any time, in the middle of anything.
            let _ = serve(stream, switchboard).await;
            clients.send_modify(|count| *count -= 1);
        });
    }
}

/// Starts the command, and powers off when it has ended or did not start.
async fn live_for(first: &FirstCommand, mut agent: Client, files: Files) -> io::Result<()> {
    let log = LogWriter::create(&files.output_log())?;
    let Some(command) = first.start(&agent, &files.exit()).await? else {
        // The machine ends with it, and this process with the machine.
        let _ = agent.shutdown(None).await;
        return Ok(());
    };
    tokio::spawn(async move {
        if let Err(error) = attend(command, log, &files.exit()).await {
            say(&error);
        }
        let _ = agent.shutdown(None).await;
    });
    Ok(())
}

#[expect(clippy::print_stderr, reason = "standard error is this process's log")]
fn say(error: &io::Error) {
    eprintln!("first command: {error}");
}

/// Once the last client has gone, and none comes back, asks the guest to power off.
async fn end_when_ownerless(mut agent: Client, mut clients: watch::Receiver<usize>) {
    loop {
        if clients.wait_for(|&count| count > 0).await.is_err()
            || clients.wait_for(|&count| count == 0).await.is_err()
        {
            return;
        }
        let back = clients.wait_for(|&count| count > 0);
        if tokio::time::timeout(OWNERLESS_LIMIT, back).await.is_err() {
            break;
        }
    }
    // The machine ends with it, and this process with the machine.
    let _ = agent.shutdown(None).await;
}

/// Passes every call on to the agent.
#[derive(Debug, Clone)]
struct Switchboard(SandboxClient<Connection>);

impl Switchboard {
    fn agent(&self) -> SandboxClient<Connection> {
        self.0.clone()
    }
}

/// An answer of the agent's, without what else a guest may put beside it.
fn plain<T>(answer: Result<Response<T>, Status>) -> Result<Response<T>, Status> {
    match answer {
        Ok(response) => Ok(Response::new(response.into_inner())),
        Err(status) => Err(Status::new(status.code(), status.message())),
    }
}

#[async_trait]
impl Sandbox for Switchboard {
    async fn hello(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        plain(self.agent().hello(request.into_inner()).await)
    }

    type ExecStream = Streaming<ExecEvent>;

    async fn exec(
        &self,
        request: Request<Streaming<ExecInput>>,
    ) -> Result<Response<Self::ExecStream>, Status> {
        // One that fails ends; that its client has gone is seen by the events.
        let inputs = request.into_inner().map_while(Result::ok);
        plain(self.agent().exec(inputs).await)
    }

    async fn signal(
        &self,
        request: Request<SignalRequest>,
    ) -> Result<Response<SignalReply>, Status> {
        plain(self.agent().signal(request.into_inner()).await)
    }

    async fn resize(
        &self,
        request: Request<ResizeRequest>,
    ) -> Result<Response<ResizeReply>, Status> {
        plain(self.agent().resize(request.into_inner()).await)
    }

    async fn stat(&self, request: Request<StatRequest>) -> Result<Response<StatReply>, Status> {
        plain(self.agent().stat(request.into_inner()).await)
    }

    type ListStream = Streaming<ListReply>;

    async fn list(
        &self,
        request: Request<ListRequest>,
    ) -> Result<Response<Self::ListStream>, Status> {
        plain(self.agent().list(request.into_inner()).await)
    }

    type ReadFileStream = Streaming<Chunk>;

    async fn read_file(
        &self,
        request: Request<ReadFileRequest>,
    ) -> Result<Response<Self::ReadFileStream>, Status> {
        plain(self.agent().read_file(request.into_inner()).await)
    }

    async fn remove(
        &self,
        request: Request<RemoveRequest>,
    ) -> Result<Response<RemoveReply>, Status> {
        plain(self.agent().remove(request.into_inner()).await)
    }

    async fn make_directory(
        &self,
        request: Request<MakeDirectoryRequest>,
    ) -> Result<Response<MakeDirectoryReply>, Status> {
        plain(self.agent().make_directory(request.into_inner()).await)
    }

    type GetArchiveStream = Streaming<Chunk>;

    async fn get_archive(
        &self,
        request: Request<GetArchiveRequest>,
    ) -> Result<Response<Self::GetArchiveStream>, Status> {
        plain(self.agent().get_archive(request.into_inner()).await)
    }

    async fn put_archive(
        &self,
        request: Request<Streaming<PutArchiveInput>>,
    ) -> Result<Response<PutArchiveReply>, Status> {
        // One that fails ends, and the agent finds the archive cut.
        let inputs = request.into_inner().map_while(Result::ok);
        plain(self.agent().put_archive(inputs).await)
    }

    async fn shutdown(
        &self,
        request: Request<ShutdownRequest>,
    ) -> Result<Response<ShutdownReply>, Status> {
        plain(self.agent().shutdown(request.into_inner()).await)
    }
}
