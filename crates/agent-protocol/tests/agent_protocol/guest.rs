use std::sync::Arc;

use msb_agent_protocol::v1::exec_event::Event;
use msb_agent_protocol::v1::exec_input::Input;
use msb_agent_protocol::v1::exit_status::Status as HowEnded;
use msb_agent_protocol::v1::sandbox_server::Sandbox;
use msb_agent_protocol::v1::{
    AcceptEvent, AcceptRequest, Accepted, Accepting, AskEvent, AskInput, Chunk, ConnectEvent,
    ConnectFailure, ConnectInput, Connected, DiskFailure, ExecEvent, ExecInput, ExitStatus,
    FollowClockReply, FollowClockRequest, FreezeEvent, FreezeInput, Frozen, GetArchiveRequest,
    HelloReply, HelloRequest, ListReply, ListRequest, MakeDirectoryReply, MakeDirectoryRequest,
    MountRootReply, MountRootRequest, PauseReply, PauseRequest, PowerOffReply, PowerOffRequest,
    PutArchiveInput, PutArchiveReply, ReadFileRequest, RemoveReply, RemoveRequest, RenameReply,
    RenameRequest, ResizeReply, ResizeRequest, SetModeReply, SetModeRequest, ShutdownReply,
    ShutdownRequest, SignalReply, SignalRequest, Started, StatReply, StatRequest, StatsReply,
    StatsRequest, Thawed, UnmountRootReply, UnmountRootRequest, UnpauseReply, UnpauseRequest,
    WatchDisksRequest, WriteFileInput, WriteFileReply, accept_event, connect_event, connect_input,
    connect_start, freeze_event, freeze_input, put_archive_input, write_file_input,
};
use msb_agent_protocol::{
    Bytes, CHUNK_MAX_BYTES, Client, Request, Response, Status, Streaming, VERSION, async_trait,
    serve_port,
};
use tokio::io::DuplexStream;
use tokio::sync::{Notify, mpsc};
use tokio_stream::wrappers::ReceiverStream;

/// A guest with three programs: `cat`, `yes`, and `sleep`, which only a signal ends.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) version: u32,
    signalled: Arc<Notify>,
}

type Events = mpsc::Sender<Result<ExecEvent, Status>>;

/// Returns a host's client, connected to a guest of this version.
pub(crate) async fn boot(version: u32) -> Client {
    let (host, guest) = tokio::io::duplex(4096);
    serve(guest, version);
    Client::connect_port(host).await.expect("greeted")
}

/// Serves a port as a guest of this version.
pub(crate) fn serve(port: DuplexStream, version: u32) {
    let signalled = Arc::default();
    let guest = Guest { version, signalled };
    tokio::spawn(serve_port(port, guest.clone(), guest));
}

/// Serves a stream as the supervisor of such a guest does: without a greeting.
pub(crate) fn serve_clients(stream: DuplexStream) {
    let (version, signalled) = (VERSION, Arc::default());
    tokio::spawn(msb_agent_protocol::serve(
        stream,
        Guest { version, signalled },
    ));
}

async fn tell(events: &Events, event: Event) -> bool {
    let event = ExecEvent { event: Some(event) };
    events.send(Ok(event)).await.is_ok()
}

async fn run(guest: Guest, mut inputs: Streaming<ExecInput>, events: Events) {
    let Ok(Some(ExecInput {
        input: Some(Input::Start(exec)),
    })) = inputs.message().await
    else {
        return;
    };
    tell(&events, Event::Started(Started { exec_id: 7, pid: 1 })).await;
    match &exec.argv[0][..] {
        b"cat" => {
            while let Ok(Some(ExecInput { input })) = inputs.message().await {
                if let Some(Input::Stdin(bytes)) = input {
                    tell(&events, Event::Stdout(bytes)).await;
                }
            }
        }
        b"yes" => {
            let chunk = Bytes::from(vec![b'y'; CHUNK_MAX_BYTES]);
            while tell(&events, Event::Stdout(chunk.clone())).await {}
        }
        _ => guest.signalled.notified().await,
    }
    let status = Some(HowEnded::Code(3));
    let exited = ExitStatus {
        status,
        ..ExitStatus::default()
    };
    tell(&events, Event::Exited(exited)).await;
}

/// Sends back what it gets, and then the end.
async fn echo(
    mut inputs: Streaming<ConnectInput>,
    events: mpsc::Sender<Result<ConnectEvent, Status>>,
) {
    while let Ok(Some(ConnectInput { input: Some(input) })) = inputs.message().await {
        let event = match input {
            connect_input::Input::Start(start) => match start.target {
                Some(connect_start::Target::Tcp(tcp)) if tcp.port == 1 => {
                    connect_event::Event::Failed(ConnectFailure {
                        errno: 111,
                        message: "cannot connect to 127.0.0.1:1: Connection refused".to_owned(),
                    })
                }
                _ => connect_event::Event::Connected(Connected {}),
            },
            connect_input::Input::Data(data) => connect_event::Event::Data(data),
            connect_input::Input::End(end) => connect_event::Event::End(end),
        };
        let is_last = matches!(
            event,
            connect_event::Event::End(_) | connect_event::Event::Failed(_)
        );
        let event = ConnectEvent { event: Some(event) };
        if events.send(Ok(event)).await.is_err() || is_last {
            return;
        }
    }
}

#[async_trait]
impl Sandbox for Guest {
    async fn hello(&self, _: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        Ok(Response::new(HelloReply {
            version: self.version,
            ..HelloReply::default()
        }))
    }

    type ExecStream = ReceiverStream<Result<ExecEvent, Status>>;

    async fn exec(
        &self,
        request: Request<Streaming<ExecInput>>,
    ) -> Result<Response<Self::ExecStream>, Status> {
        let (events, stream) = mpsc::channel(1);
        tokio::spawn(run(self.clone(), request.into_inner(), events));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn signal(&self, _: Request<SignalRequest>) -> Result<Response<SignalReply>, Status> {
        self.signalled.notify_one();
        Ok(Response::new(SignalReply {}))
    }

    /// Answers as an agent that does not know the call.
    async fn resize(&self, _: Request<ResizeRequest>) -> Result<Response<ResizeReply>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn stat(&self, _: Request<StatRequest>) -> Result<Response<StatReply>, Status> {
        Err(Status::not_found(
            "cannot inspect '/gone': No such file or directory",
        ))
    }

    type ListStream = ReceiverStream<Result<ListReply, Status>>;

    async fn list(&self, _: Request<ListRequest>) -> Result<Response<Self::ListStream>, Status> {
        Err(Status::unimplemented(""))
    }

    type ReadFileStream = ReceiverStream<Result<Chunk, Status>>;

    async fn read_file(
        &self,
        _: Request<ReadFileRequest>,
    ) -> Result<Response<Self::ReadFileStream>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn remove(&self, _: Request<RemoveRequest>) -> Result<Response<RemoveReply>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn make_directory(
        &self,
        _: Request<MakeDirectoryRequest>,
    ) -> Result<Response<MakeDirectoryReply>, Status> {
        Err(Status::unimplemented(""))
    }

    /// Accepts the complete content of a file, and requires its end.
    async fn write_file(
        &self,
        request: Request<Streaming<WriteFileInput>>,
    ) -> Result<Response<WriteFileReply>, Status> {
        let mut inputs = request.into_inner();
        while let Some(input) = inputs.message().await? {
            if let Some(write_file_input::Input::End(_)) = input.input {
                return Ok(Response::new(WriteFileReply {}));
            }
        }
        Err(Status::aborted("the content was cut"))
    }

    async fn rename(&self, _: Request<RenameRequest>) -> Result<Response<RenameReply>, Status> {
        Err(Status::failed_precondition("other filesystem"))
    }

    async fn set_mode(&self, _: Request<SetModeRequest>) -> Result<Response<SetModeReply>, Status> {
        Err(Status::not_found("no such file"))
    }

    type GetArchiveStream = ReceiverStream<Result<Chunk, Status>>;

    /// Returns an archive of one chunk, then an error.
    async fn get_archive(
        &self,
        _: Request<GetArchiveRequest>,
    ) -> Result<Response<Self::GetArchiveStream>, Status> {
        let (chunks, stream) = mpsc::channel(2);
        let data = Bytes::from_static(b"tar");
        let _ = chunks.try_send(Ok(Chunk { data }));
        let _ = chunks.try_send(Err(Status::permission_denied("cannot read './f'")));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    /// Accepts a number of bytes and then no more.
    async fn put_archive(
        &self,
        request: Request<Streaming<PutArchiveInput>>,
    ) -> Result<Response<PutArchiveReply>, Status> {
        let mut inputs = request.into_inner();
        let mut taken_bytes = 0;
        while let Some(input) = inputs.message().await? {
            if let Some(put_archive_input::Input::Data(data)) = input.input {
                taken_bytes += data.len();
            }
            if taken_bytes > 1 << 20 {
                return Err(Status::resource_exhausted("no space left"));
            }
        }
        let entries = u64::try_from(taken_bytes).unwrap_or(0);
        Ok(Response::new(PutArchiveReply { entries }))
    }

    async fn stats(&self, _: Request<StatsRequest>) -> Result<Response<StatsReply>, Status> {
        Err(Status::unimplemented(""))
    }

    type WatchDisksStream = ReceiverStream<Result<DiskFailure, Status>>;

    async fn watch_disks(
        &self,
        _: Request<WatchDisksRequest>,
    ) -> Result<Response<Self::WatchDisksStream>, Status> {
        Err(Status::unimplemented(""))
    }

    type AskStream = ReceiverStream<Result<AskEvent, Status>>;

    async fn ask(
        &self,
        _: Request<Streaming<AskInput>>,
    ) -> Result<Response<Self::AskStream>, Status> {
        Err(Status::unimplemented(""))
    }

    type ConnectStream = ReceiverStream<Result<ConnectEvent, Status>>;

    /// Port 1 refuses, all other targets echo.
    async fn connect(
        &self,
        request: Request<Streaming<ConnectInput>>,
    ) -> Result<Response<Self::ConnectStream>, Status> {
        let (events, stream) = mpsc::channel(2);
        tokio::spawn(echo(request.into_inner(), events));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    type AcceptStream = ReceiverStream<Result<AcceptEvent, Status>>;

    /// Accepts one connection, number 5.
    async fn accept(
        &self,
        _: Request<AcceptRequest>,
    ) -> Result<Response<Self::AcceptStream>, Status> {
        let (events, stream) = mpsc::channel(2);
        let event = |event| Ok(AcceptEvent { event: Some(event) });
        let _ = events.try_send(event(accept_event::Event::Listening(Accepting {})));
        let accepted = Accepted {
            id: 5,
            uid: Some(0),
            pid: None,
        };
        let _ = events.try_send(event(accept_event::Event::Accepted(accepted)));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    type CarryStream = ReceiverStream<Result<ConnectEvent, Status>>;

    async fn carry(
        &self,
        request: Request<Streaming<ConnectInput>>,
    ) -> Result<Response<Self::CarryStream>, Status> {
        self.connect(request).await
    }

    type FreezeStream = ReceiverStream<Result<FreezeEvent, Status>>;

    /// Freezes nothing. A disk that was to be frozen for no time was thawed too early.
    async fn freeze(
        &self,
        request: Request<Streaming<FreezeInput>>,
    ) -> Result<Response<Self::FreezeStream>, Status> {
        let mut inputs = request.into_inner();
        let first = inputs.message().await?.and_then(|input| input.input);
        let Some(freeze_input::Input::Start(start)) = first else {
            return Err(Status::invalid_argument("no start"));
        };
        let (events, stream) = mpsc::channel(2);
        let event = |event| Ok(FreezeEvent { event: Some(event) });
        let _ = events.try_send(event(freeze_event::Event::Frozen(Frozen {})));
        tokio::spawn(async move {
            let input = inputs.message().await.ok().flatten();
            let input = input.and_then(|input| input.input);
            let was_asked = matches!(input, Some(freeze_input::Input::Thaw(_)));
            let was_frozen = was_asked && start.limit_ms > 0;
            let _ = events.try_send(event(freeze_event::Event::Thawed(Thawed { was_frozen })));
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn pause(&self, _: Request<PauseRequest>) -> Result<Response<PauseReply>, Status> {
        Ok(Response::new(PauseReply { was_paused: false }))
    }

    async fn unpause(&self, _: Request<UnpauseRequest>) -> Result<Response<UnpauseReply>, Status> {
        Ok(Response::new(UnpauseReply { was_paused: true }))
    }

    async fn follow_clock(
        &self,
        _: Request<FollowClockRequest>,
    ) -> Result<Response<FollowClockReply>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn unmount_root(
        &self,
        _: Request<UnmountRootRequest>,
    ) -> Result<Response<UnmountRootReply>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn mount_root(
        &self,
        _: Request<MountRootRequest>,
    ) -> Result<Response<MountRootReply>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn shutdown(
        &self,
        _: Request<ShutdownRequest>,
    ) -> Result<Response<ShutdownReply>, Status> {
        Ok(Response::new(ShutdownReply {}))
    }

    async fn power_off(
        &self,
        _: Request<PowerOffRequest>,
    ) -> Result<Response<PowerOffReply>, Status> {
        Ok(Response::new(PowerOffReply {}))
    }
}
