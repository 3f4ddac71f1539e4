use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::exec::Command;
use crate::v1::containers_client::ContainersClient;
use crate::v1::sandbox_client::SandboxClient;
use crate::v1::supervisor_client::SupervisorClient;
use crate::v1::{
    Attach, CutDiskReply, CutDiskRequest, DiskErrorsRequest, DiskFailure, Exec, ExecInput,
    HelloReply, HelloRequest, PauseRequest, PowerOffRequest, ReplaceMergedRequest, ResizeRequest,
    ShutdownRequest, SignalJobRequest, SignalRequest, StatsReply, StatsRequest, StopFirst,
    UnpauseRequest, WatchDisksRequest, WindowSize, exec_input,
};
use crate::{
    ClientError, Connection, Heartbeat, MESSAGE_MAX_BYTES, OLDEST_VERSION, VERSION, check_length,
    greeting,
};

/// The origin of all requests; the servers ignore it.
pub(crate) const ORIGIN: &str = "http://sandbox";
/// The silence after which a supervisor is taken for stopped. It answers pings, one every 3 s, from
/// an event loop that does little else; on an overloaded host an answer takes seconds.
const SILENCE_LIMIT: Duration = Duration::from_secs(15);
/// The number of inputs that may wait for the connection.
const PENDING_INPUTS: usize = 4;

/// A connection to a sandbox. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) sandbox: SandboxClient<Connection>,
    pub(crate) supervisor: SupervisorClient<Connection>,
    pub(crate) containers: ContainersClient<Connection>,
    heartbeat: Heartbeat,
    connection: Connection,
}

impl Client {
    /// Connects to a sandbox over a stream on which the server expects HTTP/2 from the first byte.
    /// The server is a supervisor: if it is silent for 15 s after its first answer, all calls fail.
    ///
    /// # Errors
    /// If the stream fails.
    pub async fn connect<T>(stream: T) -> Result<Self, ClientError>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self::open(stream, Some(SILENCE_LIMIT)).await
    }

    /// Connects like [`connect`](Self::connect), and keeps the connection however long the server is
    /// silent.
    ///
    /// # Errors
    /// If the stream fails.
    pub async fn connect_without_limit<T>(stream: T) -> Result<Self, ClientError>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self::open(stream, None).await
    }

    async fn open<T>(stream: T, silence_limit: Option<Duration>) -> Result<Self, ClientError>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (connection, heartbeat) = Connection::open(stream, silence_limit)
            .await
            .map_err(ClientError::Connection)?;
        let origin = http::Uri::from_static(ORIGIN);
        Ok(Self {
            sandbox: SandboxClient::with_origin(connection.clone(), origin.clone())
                .max_decoding_message_size(MESSAGE_MAX_BYTES),
            supervisor: SupervisorClient::with_origin(connection.clone(), origin.clone())
                .max_decoding_message_size(MESSAGE_MAX_BYTES),
            containers: ContainersClient::with_origin(connection.clone(), origin)
                .max_decoding_message_size(MESSAGE_MAX_BYTES),
            heartbeat,
            connection,
        })
    }

    /// Connects to the agent over its port, after the guest's greeting.
    ///
    /// # Errors
    /// If the port ends before the greeting, or the guest uses another transport.
    pub async fn connect_port<T>(mut port: T) -> Result<Self, ClientError>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        greeting::greet_guest(&mut port)
            .await
            .map_err(ClientError::Io)?;
        // A paused machine continues where it stopped.
        Self::connect_without_limit(port).await
    }

    /// Returns the agent's version and times. The answer comes once the guest is up.
    ///
    /// # Errors
    /// If the call fails or the agent is too old.
    pub async fn hello(&mut self) -> Result<HelloReply, ClientError> {
        let request = HelloRequest { version: VERSION };
        let reply = self.sandbox.hello(request).await;
        let reply = reply.map_err(ClientError::for_call("hello"))?.into_inner();
        if reply.version < OLDEST_VERSION {
            return Err(ClientError::Version {
                version: reply.version,
                oldest: OLDEST_VERSION,
                newest: VERSION,
            });
        }
        Ok(reply)
    }

    /// Starts a command.
    ///
    /// # Errors
    /// [`Refused`](ClientError::Refused) if the agent reports why it cannot run,
    /// [`TooLong`](ClientError::TooLong) before the agent is asked.
    pub async fn exec(&mut self, exec: Exec) -> Result<Command, ClientError> {
        check_length(&exec)?;
        let (inputs, pending) = beginning_with(exec_input::Input::Start(exec)).await;
        let events = self.sandbox.exec(pending).await;
        let events = events.map_err(ClientError::for_call("exec"))?.into_inner();
        Command::started(self.clone(), inputs, events).await
    }

    /// Attaches to the main command, once it runs.
    ///
    /// # Errors
    /// [`Refused`](ClientError::Refused) if it could not be started, [`Over`](ClientError::Over) if
    /// it has ended.
    pub async fn attach(&mut self, attach: Attach) -> Result<Command, ClientError> {
        let (inputs, pending) = beginning_with(exec_input::Input::Attach(attach)).await;
        let events = self.supervisor.attach(pending).await;
        let events = events
            .map_err(ClientError::for_call("attach"))?
            .into_inner();
        Command::started(self.clone(), inputs, events).await
    }

    /// Starts a job and returns its number.
    ///
    /// # Errors
    /// [`Call`](ClientError::Call) with the reason if it cannot be started,
    /// [`Refused`](ClientError::Refused) if the sandbox is paused.
    pub async fn start_job(&mut self, exec: Exec) -> Result<u64, ClientError> {
        check_length(&exec)?;
        let reply = self.supervisor.start_job(exec).await;
        let reply = reply.map_err(ClientError::for_job)?;
        Ok(reply.into_inner().job_id)
    }

    /// Sends a signal to a job's process group, by its number on Linux.
    ///
    /// # Errors
    /// [`Call`](ClientError::Call) with the reason if the job is not running.
    pub async fn signal_job(&mut self, job_id: u64, signal: i32) -> Result<(), ClientError> {
        let request = SignalJobRequest { job_id, signal };
        let reply = self.supervisor.signal_job(request).await;
        reply
            .map_err(ClientError::for_call("signal a job"))
            .map(drop)
    }

    /// Freezes every process of the guest but its agent. Returns false if they were frozen before.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the agent is older than the call,
    /// [`Pause`](ClientError::Pause) with the reason if they cannot be frozen.
    pub async fn pause(&mut self) -> Result<bool, ClientError> {
        let reply = self.sandbox.pause(PauseRequest {}).await;
        let reply = reply.map_err(ClientError::for_pause("the pause"))?;
        Ok(!reply.into_inner().was_paused)
    }

    /// Thaws the processes. Returns false if they were not frozen.
    ///
    /// # Errors
    /// Fails as [`pause`](Self::pause) does.
    pub async fn unpause(&mut self) -> Result<bool, ClientError> {
        let reply = self.sandbox.unpause(UnpauseRequest {}).await;
        let reply = reply.map_err(ClientError::for_pause("the end of the pause"))?;
        Ok(reply.into_inner().was_paused)
    }

    /// Asks the guest to shut down. The answer comes once its disks are unmounted.
    ///
    /// Processes have `grace` to end themselves, two seconds if it is `None`. The command `first`
    /// is ended before the others.
    ///
    /// # Errors
    /// If the call fails.
    pub async fn shutdown(
        &mut self,
        grace: Option<Duration>,
        first: Option<StopFirst>,
    ) -> Result<(), ClientError> {
        let milliseconds = |grace: Duration| u32::try_from(grace.as_millis()).unwrap_or(u32::MAX);
        let grace_ms = grace.map(milliseconds);
        let request = ShutdownRequest { grace_ms, first };
        let reply = self.sandbox.shutdown(request).await;
        reply.map_err(ClientError::for_call("shutdown")).map(drop)
    }

    /// Returns the counters of the guest's kernel. The guest can report any figure.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the agent is older than this call.
    pub async fn stats(&mut self) -> Result<StatsReply, ClientError> {
        let reply = self.sandbox.stats(StatsRequest {}).await;
        Ok(reply.map_err(ClientError::for_call("stats"))?.into_inner())
    }

    /// Reports disks that fail, since the machine's start. The report is the guest's word.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the agent is older than the call.
    pub async fn watch_disks(&mut self) -> Result<Streaming<DiskFailure>, ClientError> {
        let failures = self.sandbox.watch_disks(WatchDisksRequest {}).await;
        let failures = failures.map_err(ClientError::for_call("watch the disks"))?;
        Ok(failures.into_inner())
    }

    /// Returns a line for each disk that has failed since the machine was started, as the supervisor
    /// recorded it.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the VMM process is older than the call.
    pub async fn disk_errors(&mut self) -> Result<Vec<String>, ClientError> {
        let reply = self.supervisor.disk_errors(DiskErrorsRequest {}).await;
        let reply = reply.map_err(ClientError::for_call("ask for errors of disks"))?;
        Ok(reply.into_inner().messages)
    }

    /// Cuts the writable disk, which is one of generations. With `freeze` the guest's agent is asked to
    /// freeze its filesystem meanwhile; if it does not, the disk is cut nevertheless. `generations_max`
    /// is the most generations that the disk may have afterwards.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the VMM process is older than the call,
    /// [`Cut`](ClientError::Cut) with the reason if the disk cannot be cut.
    pub async fn cut_disk(
        &mut self,
        freeze: bool,
        generations_max: u32,
    ) -> Result<CutDiskReply, ClientError> {
        let request = CutDiskRequest {
            freeze,
            generations_max,
        };
        let reply = self.supervisor.cut_disk(request).await;
        Ok(reply.map_err(ClientError::for_cut)?.into_inner())
    }

    /// Has the writable disk, which is one of generations, use the generation `into` instead of those that
    /// were merged into it, durably. Identifiers are 16 bytes.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the VMM process is older than the call,
    /// [`Cut`](ClientError::Cut) with the reason if the disk stays as it is.
    pub async fn replace_merged(
        &mut self,
        merged: impl IntoIterator<Item = [u8; 16]>,
        into: [u8; 16],
    ) -> Result<(), ClientError> {
        let merged = merged.into_iter().map(|id| id.to_vec().into()).collect();
        let into = into.to_vec().into();
        let request = ReplaceMergedRequest { merged, into };
        let reply = self.supervisor.replace_merged(request).await;
        reply.map_err(ClientError::for_merge).map(drop)
    }

    /// Ends the machine at once, after [`shutdown`](Self::shutdown). Returns when the machine has
    /// ended.
    pub async fn power_off(&mut self) {
        // The call always ends in an error, because the machine does not answer any more.
        let _ = self.sandbox.power_off(PowerOffRequest {}).await;
    }

    pub(crate) async fn signal(&mut self, exec_id: u64, signal: i32) -> Result<(), ClientError> {
        let reply = self.sandbox.signal(SignalRequest { exec_id, signal }).await;
        reply.map_err(ClientError::for_call("signal")).map(drop)
    }

    pub(crate) async fn resize(
        &mut self,
        exec_id: u64,
        size: WindowSize,
    ) -> Result<(), ClientError> {
        let size = Some(size);
        let reply = self.sandbox.resize(ResizeRequest { exec_id, size }).await;
        reply.map_err(ClientError::for_call("resize")).map(drop)
    }

    /// Returns the connection's heartbeat, which counts everything that the other end sends.
    pub fn heartbeat(&self) -> Heartbeat {
        self.heartbeat.clone()
    }

    /// Returns true once the connection has ended, so that every further call fails.
    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Returns the connection, to pass calls on.
    pub fn connection(&self) -> Connection {
        self.connection.clone()
    }

    /// Returns the generated client.
    pub fn raw(&self) -> SandboxClient<Connection> {
        self.sandbox.clone()
    }
}

/// Returns a stream of inputs that begins with `first`, and its sender.
pub(crate) async fn beginning_with(
    first: exec_input::Input,
) -> (mpsc::Sender<ExecInput>, ReceiverStream<ExecInput>) {
    let (inputs, pending) = mpsc::channel(PENDING_INPUTS);
    // The channel has room: nothing was sent before.
    let _ = inputs.send(ExecInput { input: Some(first) }).await;
    (inputs, ReceiverStream::new(pending))
}
