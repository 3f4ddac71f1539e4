use msb_agent_protocol::v1::sandbox_server::Sandbox;
use msb_agent_protocol::v1::{
    AcceptEvent, AcceptRequest, AskEvent, AskInput, Chunk, ConnectEvent, ConnectInput,
    ConnectStart, DiskFailure, ExecInput, FollowClockReply, FollowClockRequest, FreezeEvent,
    FreezeInput, GetArchiveRequest, HelloReply, HelloRequest, ListReply, ListRequest,
    MakeDirectoryReply, MakeDirectoryRequest, MountRootReply, MountRootRequest, PauseReply,
    PauseRequest, PowerOffReply, PowerOffRequest, PutArchiveInput, PutArchiveReply,
    ReadFileRequest, RemoveReply, RemoveRequest, RenameReply, RenameRequest, ResizeReply,
    ResizeRequest, SetModeReply, SetModeRequest, ShutdownReply, ShutdownRequest, SignalReply,
    SignalRequest, StatReply, StatRequest, StatsReply, StatsRequest, UnmountRootReply,
    UnmountRootRequest, UnpauseReply, UnpauseRequest, WatchDisksRequest, WriteFileInput,
    WriteFileReply, connect_input, exec_input, freeze_input, put_archive_input, write_file_input,
};
use msb_agent_protocol::{Request, Response, Status, Streaming, VERSION, async_trait};
use tokio::time::{Duration, Instant};

use crate::clock;
use crate::disk_failures;
use crate::exec::{self, Events, Running};
use crate::figures;
use crate::files::{self, Answers};
use crate::freeze;
use crate::pause;
use crate::questions::Questions;
use crate::reaper::Reaper;
use crate::remount;
use crate::shutdown;
use crate::sockets::Sockets;
use crate::unmount;
use crate::uptime;

/// Guest uptime at two moments of the boot, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BootTimes {
    pub(crate) started_us: u64,
    pub(crate) mounts_done_us: u64,
}

/// The agent's service for the host.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    reaper: Reaper,
    running: Running,
    boot_times: BootTimes,
    questions: Questions,
    sockets: Sockets,
}

impl Service {
    pub(crate) fn new(
        reaper: Reaper,
        running: Running,
        boot_times: BootTimes,
        questions: Questions,
    ) -> Self {
        Self {
            reaper,
            running,
            boot_times,
            questions,
            sockets: Sockets::new(),
        }
    }

    /// Fails if no commands and no calls on files are accepted.
    fn admit(&self) -> Result<(), Status> {
        self.running
            .refusal()
            .map_or(Ok(()), |reason| Err(Status::unavailable(reason)))
    }

    /// Runs work that blocks on a disk, on its own thread. A sandbox that shuts down accepts none,
    /// because its disks are unmounted meanwhile.
    async fn waiting<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        self.admit()?;
        files::waiting(work).await
    }
}

#[async_trait]
impl Sandbox for Service {
    async fn hello(&self, _: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        let uname = rustix::system::uname();
        Ok(Response::new(HelloReply {
            version: VERSION,
            kernel_release: uname.release().to_string_lossy().into_owned(),
            agent_started_us: self.boot_times.started_us,
            mounts_done_us: self.boot_times.mounts_done_us,
            answered_us: Some(uptime::now_us()),
        }))
    }

    type ExecStream = Events;

    async fn exec(
        &self,
        request: Request<Streaming<ExecInput>>,
    ) -> Result<Response<Events>, Status> {
        let mut inputs = request.into_inner();
        let first = inputs.message().await?.and_then(|input| input.input);
        let Some(exec_input::Input::Start(start)) = first else {
            return Err(Status::invalid_argument("the first input is not a command"));
        };
        self.admit()?;
        let events = exec::run(start, inputs, &self.reaper, &self.running).await;
        Ok(Response::new(events))
    }

    async fn signal(
        &self,
        request: Request<SignalRequest>,
    ) -> Result<Response<SignalReply>, Status> {
        let request = request.into_inner();
        self.running
            .signal(request.exec_id, request.signal)
            .ok_or_else(|| ended(request.exec_id))?;
        Ok(Response::new(SignalReply {}))
    }

    async fn resize(
        &self,
        request: Request<ResizeRequest>,
    ) -> Result<Response<ResizeReply>, Status> {
        let request = request.into_inner();
        self.running
            .resize(request.exec_id, request.size.unwrap_or_default())
            .ok_or_else(|| ended(request.exec_id))?;
        Ok(Response::new(ResizeReply {}))
    }

    async fn stat(&self, request: Request<StatRequest>) -> Result<Response<StatReply>, Status> {
        let request = request.into_inner();
        let reply = self.waiting(move || files::stat(&request)).await;
        reply.map(Response::new)
    }

    type ListStream = Answers<ListReply>;

    async fn list(
        &self,
        request: Request<ListRequest>,
    ) -> Result<Response<Self::ListStream>, Status> {
        Ok(Response::new(files::list(request.get_ref(), &self.running)))
    }

    type ReadFileStream = Answers<Chunk>;

    async fn read_file(
        &self,
        request: Request<ReadFileRequest>,
    ) -> Result<Response<Self::ReadFileStream>, Status> {
        Ok(Response::new(files::read(request.get_ref(), &self.running)))
    }

    async fn remove(
        &self,
        request: Request<RemoveRequest>,
    ) -> Result<Response<RemoveReply>, Status> {
        let request = request.into_inner();
        let reply = self.waiting(move || files::remove(&request)).await;
        reply.map(Response::new)
    }

    async fn make_directory(
        &self,
        request: Request<MakeDirectoryRequest>,
    ) -> Result<Response<MakeDirectoryReply>, Status> {
        let request = request.into_inner();
        let reply = self.waiting(move || files::make_directory(&request)).await;
        reply.map(Response::new)
    }

    async fn write_file(
        &self,
        request: Request<Streaming<WriteFileInput>>,
    ) -> Result<Response<WriteFileReply>, Status> {
        let mut inputs = request.into_inner();
        let first = inputs.message().await?.and_then(|input| input.input);
        let Some(write_file_input::Input::Start(start)) = first else {
            return Err(Status::invalid_argument("the first input is not a start"));
        };
        files::write(start, inputs, &self.running)
            .await
            .map(Response::new)
    }

    async fn rename(
        &self,
        request: Request<RenameRequest>,
    ) -> Result<Response<RenameReply>, Status> {
        let request = request.into_inner();
        let reply = self.waiting(move || files::rename(&request)).await;
        reply.map(Response::new)
    }

    async fn set_mode(
        &self,
        request: Request<SetModeRequest>,
    ) -> Result<Response<SetModeReply>, Status> {
        let request = request.into_inner();
        let reply = self.waiting(move || files::set_mode(&request)).await;
        reply.map(Response::new)
    }

    type GetArchiveStream = Answers<Chunk>;

    async fn get_archive(
        &self,
        request: Request<GetArchiveRequest>,
    ) -> Result<Response<Self::GetArchiveStream>, Status> {
        Ok(Response::new(files::get(request.get_ref(), &self.running)))
    }

    async fn put_archive(
        &self,
        request: Request<Streaming<PutArchiveInput>>,
    ) -> Result<Response<PutArchiveReply>, Status> {
        let mut inputs = request.into_inner();
        let first = inputs.message().await?.and_then(|input| input.input);
        let Some(put_archive_input::Input::Start(start)) = first else {
            return Err(Status::invalid_argument("the first input is not a start"));
        };
        files::put(start, inputs, &self.running)
            .await
            .map(Response::new)
    }

    async fn stats(&self, _: Request<StatsRequest>) -> Result<Response<StatsReply>, Status> {
        self.admit()?;
        // The figures are the machine's, in the agent's own `/proc`.
        let read = tokio::task::spawn_blocking(figures::read).await;
        let reply = read.map_err(|_| Status::internal("the agent failed"))?;
        Ok(Response::new(reply))
    }

    type WatchDisksStream = Answers<DiskFailure>;

    async fn watch_disks(
        &self,
        _: Request<WatchDisksRequest>,
    ) -> Result<Response<Self::WatchDisksStream>, Status> {
        Ok(Response::new(disk_failures::watch()))
    }

    type AskStream = Answers<AskEvent>;

    async fn ask(
        &self,
        request: Request<Streaming<AskInput>>,
    ) -> Result<Response<Self::AskStream>, Status> {
        Ok(Response::new(self.questions.pass_on(request.into_inner())))
    }

    type ConnectStream = Answers<ConnectEvent>;

    async fn connect(
        &self,
        request: Request<Streaming<ConnectInput>>,
    ) -> Result<Response<Self::ConnectStream>, Status> {
        let mut inputs = request.into_inner();
        let start = connect_start(&mut inputs).await?;
        let events = self.sockets.connect(start, inputs, &self.running);
        events.map(Response::new)
    }

    type AcceptStream = Answers<AcceptEvent>;

    async fn accept(
        &self,
        request: Request<AcceptRequest>,
    ) -> Result<Response<Self::AcceptStream>, Status> {
        let events = self.sockets.accept(request.into_inner(), &self.running);
        events.await.map(Response::new)
    }

    type CarryStream = Answers<ConnectEvent>;

    async fn carry(
        &self,
        request: Request<Streaming<ConnectInput>>,
    ) -> Result<Response<Self::CarryStream>, Status> {
        let mut inputs = request.into_inner();
        let start = connect_start(&mut inputs).await?;
        let events = self.sockets.carry(&start, inputs, &self.running);
        events.map(Response::new)
    }

    type FreezeStream = Answers<FreezeEvent>;

    async fn freeze(
        &self,
        request: Request<Streaming<FreezeInput>>,
    ) -> Result<Response<Self::FreezeStream>, Status> {
        let mut inputs = request.into_inner();
        let first = inputs.message().await?.and_then(|input| input.input);
        let Some(freeze_input::Input::Start(start)) = first else {
            return Err(Status::invalid_argument("the first input is not a start"));
        };
        self.admit()?;
        let events = freeze::freeze(start, inputs, &self.running);
        Ok(Response::new(events))
    }

    async fn pause(&self, _: Request<PauseRequest>) -> Result<Response<PauseReply>, Status> {
        let was_paused = pause::pause(&self.running).await?;
        Ok(Response::new(PauseReply { was_paused }))
    }

    async fn unpause(&self, _: Request<UnpauseRequest>) -> Result<Response<UnpauseReply>, Status> {
        let was_paused = pause::unpause(&self.running).await?;
        Ok(Response::new(UnpauseReply { was_paused }))
    }

    async fn follow_clock(
        &self,
        request: Request<FollowClockRequest>,
    ) -> Result<Response<FollowClockReply>, Status> {
        clock::follow(request.get_ref()).map(Response::new)
    }

    async fn unmount_root(
        &self,
        request: Request<UnmountRootRequest>,
    ) -> Result<Response<UnmountRootReply>, Status> {
        remount::unmount(request.into_inner(), &self.running).await?;
        Ok(Response::new(UnmountRootReply {}))
    }

    async fn mount_root(
        &self,
        _: Request<MountRootRequest>,
    ) -> Result<Response<MountRootReply>, Status> {
        remount::mount(&self.running).await?;
        Ok(Response::new(MountRootReply {}))
    }

    async fn shutdown(
        &self,
        request: Request<ShutdownRequest>,
    ) -> Result<Response<ShutdownReply>, Status> {
        if !self.running.close() {
            // Another request began the shutdown; the machine's end answers this one.
            std::future::pending::<()>().await;
        }
        let request = request.into_inner();
        let grace_ms = request.grace_ms.map(u64::from);
        let grace = grace_ms.map_or(shutdown::GRACE, Duration::from_millis);
        // Frozen processes would not get their signals.
        pause::end(&self.running).await;
        let deadline = Instant::now() + grace;
        if let Some(first) = request.first {
            self.running.end(first, deadline).await;
        }
        shutdown::end_processes(deadline).await;
        self.running.all_left().await;
        let turn = remount::turn().await;
        // A thread that failed has said so; the machine ends all the same.
        let _ = unmount::beside_pings(unmount::unmount_for_good).await;
        drop(turn);
        tokio::spawn(shutdown::power_off_after_answer());
        Ok(Response::new(ShutdownReply {}))
    }

    async fn power_off(
        &self,
        _: Request<PowerOffRequest>,
    ) -> Result<Response<PowerOffReply>, Status> {
        if !self.running.is_closed_for_good() {
            return Err(Status::failed_precondition("nothing was shut down"));
        }
        shutdown::power_off()
    }
}

/// Receives the first input of a connection.
async fn connect_start(inputs: &mut Streaming<ConnectInput>) -> Result<ConnectStart, Status> {
    match inputs.message().await?.and_then(|input| input.input) {
        Some(connect_input::Input::Start(start)) => Ok(start),
        _ => Err(Status::invalid_argument("the first input is not a start")),
    }
}

fn ended(exec_id: u64) -> Status {
    Status::not_found(format!("command {exec_id} is not running"))
}
