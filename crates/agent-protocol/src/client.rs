use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::exec::Command;
use crate::v1::keeper_client::KeeperClient;
use crate::v1::sandbox_client::SandboxClient;
use crate::v1::{
    Attach, Exec, ExecInput, HelloReply, HelloRequest, PowerOffRequest, ResizeRequest,
    ShutdownRequest, SignalJobRequest, SignalRequest, StatsReply, StatsRequest, StopFirst,
    WindowSize, exec_input,
};
use crate::{
    ClientError, Connection, Heartbeat, MESSAGE_MAX_BYTES, OLDEST_VERSION, VERSION, check_length,
    greeting,
};

/// What requests are addressed to; nothing looks at it.
const ORIGIN: &str = "http://sandbox";
/// Chunks of input that wait for the connection.
const PENDING_INPUTS: usize = 4;

/// A sandbox that is connected to. Its clones share the connection.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) sandbox: SandboxClient<Connection>,
    keeper: KeeperClient<Connection>,
    heartbeat: Heartbeat,
}

impl Client {
    /// Connects to a sandbox over a stream that is its server's from the first byte.
    ///
    /// # Errors
    /// When the stream fails.
    pub async fn connect<T>(stream: T) -> Result<Self, ClientError>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (connection, heartbeat) = Connection::open(stream)
            .await
            .map_err(ClientError::Connection)?;
        let origin = http::Uri::from_static(ORIGIN);
        Ok(Self {
            sandbox: SandboxClient::with_origin(connection.clone(), origin.clone())
                .max_decoding_message_size(MESSAGE_MAX_BYTES),
            keeper: KeeperClient::with_origin(connection, origin)
                .max_decoding_message_size(MESSAGE_MAX_BYTES),
            heartbeat,
        })
    }

    /// Connects to the agent over its port: waits for the guest's greeting and answers it first.
    ///
    /// # Errors
    /// When the port ends first, or the guest speaks another transport.
    pub async fn connect_port<T>(mut port: T) -> Result<Self, ClientError>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        greeting::greet_guest(&mut port)
            .await
            .map_err(ClientError::Io)?;
        Self::connect(port).await
    }

    /// Asks who the agent is; the answer comes once the guest is up.
    ///
    /// # Errors
    /// When it cannot be reached, answers wrongly or is too old.
    pub async fn hello(&mut self) -> Result<HelloReply, ClientError> {
        let request = HelloRequest { version: VERSION };
        let reply = self.sandbox.hello(request).await;
        let reply = reply.map_err(ClientError::of("hello"))?.into_inner();
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
    /// [`Refused`](ClientError::Refused) when the agent says why it does not run,
    /// [`TooLong`](ClientError::TooLong) before it is asked.
    pub async fn exec(&mut self, exec: Exec) -> Result<Command, ClientError> {
        check_length(&exec)?;
        let (inputs, pending) = beginning_with(exec_input::Input::Start(exec)).await;
        let events = self.sandbox.exec(pending).await;
        let events = events.map_err(ClientError::of("exec"))?.into_inner();
        Command::started(self.clone(), inputs, events).await
    }

    /// Joins the command that the sandbox was created for, once it runs.
    ///
    /// # Errors
    /// [`Refused`](ClientError::Refused) when it did not run, [`Over`](ClientError::Over) when it
    /// has ended.
    pub async fn attach(&mut self, attach: Attach) -> Result<Command, ClientError> {
        let (inputs, pending) = beginning_with(exec_input::Input::Attach(attach)).await;
        let events = self.keeper.attach(pending).await;
        let events = events.map_err(ClientError::of("attach"))?.into_inner();
        Command::started(self.clone(), inputs, events).await
    }

    /// Starts a command that nobody waits for, and gives the number it is kept under.
    ///
    /// # Errors
    /// [`Call`](ClientError::Call) with the reason when it does not run.
    pub async fn start_job(&mut self, exec: Exec) -> Result<u64, ClientError> {
        check_length(&exec)?;
        let reply = self.keeper.start_job(exec).await;
        let reply = reply.map_err(ClientError::of("start a job"))?;
        Ok(reply.into_inner().job_id)
    }

    /// Sends the signal with this number of Linux to a command that nobody waits for, and to what it
    /// started.
    ///
    /// # Errors
    /// [`Call`](ClientError::Call) with the reason when it does not run.
    pub async fn signal_job(&mut self, job_id: u64, signal: i32) -> Result<(), ClientError> {
        let request = SignalJobRequest { job_id, signal };
        let reply = self.keeper.signal_job(request).await;
        reply.map_err(ClientError::of("signal a job")).map(drop)
    }

    /// Asks the guest to power off; the answer comes once its disks are unmounted. Processes get
    /// `grace` to end by themselves, two seconds where the caller does not say; `first` before the
    /// others.
    ///
    /// # Errors
    /// When it cannot be reached or answers wrongly.
    pub async fn shutdown(
        &mut self,
        grace: Option<Duration>,
        first: Option<StopFirst>,
    ) -> Result<(), ClientError> {
        let milliseconds = |grace: Duration| u32::try_from(grace.as_millis()).unwrap_or(u32::MAX);
        let grace_ms = grace.map(milliseconds);
        let request = ShutdownRequest { grace_ms, first };
        let reply = self.sandbox.shutdown(request).await;
        reply.map_err(ClientError::of("shutdown")).map(drop)
    }

    /// Asks what the guest's kernel has counted. The figures are the guest's own word.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) of an agent that is older than the call.
    pub async fn stats(&mut self) -> Result<StatsReply, ClientError> {
        let reply = self.sandbox.stats(StatsRequest {}).await;
        Ok(reply.map_err(ClientError::of("stats"))?.into_inner())
    }

    /// Ends the machine at once, after [`shutdown`](Self::shutdown). Comes back when it is gone.
    pub async fn power_off(&mut self) {
        // Whatever this gives, there is nobody left to have answered.
        let _ = self.sandbox.power_off(PowerOffRequest {}).await;
    }

    pub(crate) async fn signal(&mut self, exec_id: u64, signal: i32) -> Result<(), ClientError> {
        let reply = self.sandbox.signal(SignalRequest { exec_id, signal }).await;
        reply.map_err(ClientError::of("signal")).map(drop)
    }

    pub(crate) async fn resize(
        &mut self,
        exec_id: u64,
        size: WindowSize,
    ) -> Result<(), ClientError> {
        let size = Some(size);
        let reply = self.sandbox.resize(ResizeRequest { exec_id, size }).await;
        reply.map_err(ClientError::of("resize")).map(drop)
    }

    /// What is heard of the other end, whatever is asked of it.
    pub fn heartbeat(&self) -> Heartbeat {
        self.heartbeat.clone()
    }

    /// The generated client, to pass calls on unchanged.
    pub fn raw(&self) -> SandboxClient<Connection> {
        self.sandbox.clone()
    }
}

/// Inputs whose first is on its way.
async fn beginning_with(
    first: exec_input::Input,
) -> (mpsc::Sender<ExecInput>, ReceiverStream<ExecInput>) {
    let (inputs, pending) = mpsc::channel(PENDING_INPUTS);
    // There is room: nothing was sent before.
    let _ = inputs.send(ExecInput { input: Some(first) }).await;
    (inputs, ReceiverStream::new(pending))
}
