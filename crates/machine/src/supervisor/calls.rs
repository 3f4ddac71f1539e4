//! The calls that the supervisor serves. It passes the agent's calls on over the guest's one port.

use std::sync::atomic::Ordering;
use std::time::Duration;

use msb_agent_protocol::v1::exec_input::Input;
use msb_agent_protocol::v1::sandbox_client::SandboxClient;
use msb_agent_protocol::v1::sandbox_server::Sandbox;
use msb_agent_protocol::v1::supervisor_server::Supervisor as SupervisorCalls;
use msb_agent_protocol::v1::{
    Chunk, CutDiskReply, CutDiskRequest, DiskErrorsReply, DiskErrorsRequest, DiskFailure, Exec,
    ExecEvent, ExecInput, FollowClockReply, FollowClockRequest, FreezeEvent, FreezeInput,
    GetArchiveRequest, HelloReply, HelloRequest, ListReply, ListRequest, MakeDirectoryReply,
    MakeDirectoryRequest, MountRootReply, MountRootRequest, OwnEvent, OwnInput, Owned, PauseReply,
    PauseRequest, PowerOffReply, PowerOffRequest, PutArchiveInput, PutArchiveReply,
    ReadFileRequest, RemoveReply, RemoveRequest, RenameReply, RenameRequest, ReplaceMergedReply,
    ReplaceMergedRequest, ResizeReply, ResizeRequest, RollBackInput, SetModeReply, SetModeRequest,
    ShutdownReply, ShutdownRequest, SignalJobRequest, SignalReply, SignalRequest, StartJobReply,
    StatReply, StatRequest, StatsReply, StatsRequest, UnmountRootReply, UnmountRootRequest,
    UnpauseReply, UnpauseRequest, WatchDisksRequest, WriteFileInput, WriteFileReply, own_event,
    own_input, roll_back_input,
};
use msb_agent_protocol::{Connection, Request, Response, Status, Streaming, async_trait};
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

use super::Supervisor;
use super::call_timeout::{ANSWER_TIMEOUT, Answers, COMMAND_TIMEOUT, answered, answers};
use super::main_command::MainCommand;

impl Supervisor {
    fn raw(&self) -> SandboxClient<Connection> {
        self.agent.raw()
    }

    /// Passes an answer of the agent on.
    async fn answer<T>(
        &self,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<Response<T>, Status> {
        self.connection.count();
        // The guest refuses calls while it is rolled back. If that fails, the machine ends.
        self.rollbacks.settled().await;
        self.clock.before_call().await;
        plain(answered(self.agent.heartbeat(), answer).await)
    }

    /// Passes a stream of answers on, until the agent has been silent for longer than `limit`.
    async fn answers<T: Send + 'static>(
        &self,
        answer: impl Future<Output = Result<Response<Streaming<T>>, Status>>,
        limit: Duration,
    ) -> Result<Response<Answers<T>>, Status> {
        let stream = self.answer(answer).await?.into_inner();
        let heartbeat = self.agent.heartbeat();
        Ok(Response::new(answers(stream, heartbeat, limit)))
    }
}

/// Returns an answer of the agent without the metadata that a guest may have added.
fn plain<T>(answer: Result<Response<T>, Status>) -> Result<Response<T>, Status> {
    match answer {
        Ok(response) => Ok(Response::new(response.into_inner())),
        Err(status) => Err(Status::new(status.code(), status.message())),
    }
}

#[async_trait]
impl Sandbox for Supervisor {
    /// The guest answers once: the answer is about its boot. The call that follows finds out whether
    /// the guest still answers.
    async fn hello(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        let asked = self.greeting.get_or_try_init(async || {
            let answer = self.answer(self.raw().hello(request.into_inner())).await;
            answer.map(Response::into_inner)
        });
        let greeting = asked.await?.clone();
        self.connection.count();
        self.rollbacks.settled().await;
        Ok(Response::new(greeting))
    }

    type ExecStream = Answers<ExecEvent>;

    async fn exec(
        &self,
        request: Request<Streaming<ExecInput>>,
    ) -> Result<Response<Self::ExecStream>, Status> {
        // A failed input ends the stream; the client's disconnection is noticed at the events.
        let inputs = request.into_inner().map_while(Result::ok);
        self.answers(self.raw().exec(inputs), COMMAND_TIMEOUT).await
    }

    async fn signal(
        &self,
        request: Request<SignalRequest>,
    ) -> Result<Response<SignalReply>, Status> {
        self.answer(self.raw().signal(request.into_inner())).await
    }

    async fn resize(
        &self,
        request: Request<ResizeRequest>,
    ) -> Result<Response<ResizeReply>, Status> {
        self.answer(self.raw().resize(request.into_inner())).await
    }

    async fn stat(&self, request: Request<StatRequest>) -> Result<Response<StatReply>, Status> {
        self.answer(self.raw().stat(request.into_inner())).await
    }

    type ListStream = Answers<ListReply>;

    async fn list(
        &self,
        request: Request<ListRequest>,
    ) -> Result<Response<Self::ListStream>, Status> {
        self.answers(self.raw().list(request.into_inner()), ANSWER_TIMEOUT)
            .await
    }

    type ReadFileStream = Answers<Chunk>;

    async fn read_file(
        &self,
        request: Request<ReadFileRequest>,
    ) -> Result<Response<Self::ReadFileStream>, Status> {
        self.answers(self.raw().read_file(request.into_inner()), ANSWER_TIMEOUT)
            .await
    }

    async fn remove(
        &self,
        request: Request<RemoveRequest>,
    ) -> Result<Response<RemoveReply>, Status> {
        self.answer(self.raw().remove(request.into_inner())).await
    }

    async fn make_directory(
        &self,
        request: Request<MakeDirectoryRequest>,
    ) -> Result<Response<MakeDirectoryReply>, Status> {
        self.answer(self.raw().make_directory(request.into_inner()))
            .await
    }

    async fn write_file(
        &self,
        request: Request<Streaming<WriteFileInput>>,
    ) -> Result<Response<WriteFileReply>, Status> {
        // A failed input ends the stream, and the agent finds the content cut.
        let inputs = request.into_inner().map_while(Result::ok);
        self.answer(self.raw().write_file(inputs)).await
    }

    async fn rename(
        &self,
        request: Request<RenameRequest>,
    ) -> Result<Response<RenameReply>, Status> {
        self.answer(self.raw().rename(request.into_inner())).await
    }

    async fn set_mode(
        &self,
        request: Request<SetModeRequest>,
    ) -> Result<Response<SetModeReply>, Status> {
        self.answer(self.raw().set_mode(request.into_inner())).await
    }

    type GetArchiveStream = Answers<Chunk>;

    async fn get_archive(
        &self,
        request: Request<GetArchiveRequest>,
    ) -> Result<Response<Self::GetArchiveStream>, Status> {
        self.answers(self.raw().get_archive(request.into_inner()), ANSWER_TIMEOUT)
            .await
    }

    async fn put_archive(
        &self,
        request: Request<Streaming<PutArchiveInput>>,
    ) -> Result<Response<PutArchiveReply>, Status> {
        // A failed input ends the stream, and the agent finds the archive cut.
        let inputs = request.into_inner().map_while(Result::ok);
        self.answer(self.raw().put_archive(inputs)).await
    }

    async fn stats(&self, request: Request<StatsRequest>) -> Result<Response<StatsReply>, Status> {
        self.answer(self.raw().stats(request.into_inner())).await
    }

    type WatchDisksStream = Answers<DiskFailure>;

    /// Refuses the call, because the supervisor itself watches the disks: see `disk_errors`.
    async fn watch_disks(
        &self,
        _: Request<WatchDisksRequest>,
    ) -> Result<Response<Self::WatchDisksStream>, Status> {
        Err(Status::permission_denied(
            "the sandbox's process watches its disks",
        ))
    }

    type FreezeStream = Answers<FreezeEvent>;

    async fn freeze(
        &self,
        request: Request<Streaming<FreezeInput>>,
    ) -> Result<Response<Self::FreezeStream>, Status> {
        // A failed input ends the stream, and the agent thaws the disk.
        let inputs = request.into_inner().map_while(Result::ok);
        self.answers(self.raw().freeze(inputs), ANSWER_TIMEOUT)
            .await
    }

    async fn pause(&self, _: Request<PauseRequest>) -> Result<Response<PauseReply>, Status> {
        self.connection.count();
        let was_paused = self.set_paused(true).await?;
        Ok(Response::new(PauseReply { was_paused }))
    }

    async fn unpause(&self, _: Request<UnpauseRequest>) -> Result<Response<UnpauseReply>, Status> {
        self.connection.count();
        let was_paused = self.set_paused(false).await?;
        Ok(Response::new(UnpauseReply { was_paused }))
    }

    async fn follow_clock(
        &self,
        _: Request<FollowClockRequest>,
    ) -> Result<Response<FollowClockReply>, Status> {
        Err(Status::permission_denied(
            "the sandbox's process sets the guest's clock",
        ))
    }

    async fn unmount_root(
        &self,
        _: Request<UnmountRootRequest>,
    ) -> Result<Response<UnmountRootReply>, Status> {
        Err(Status::permission_denied("a rollback unmounts the root"))
    }

    async fn mount_root(
        &self,
        _: Request<MountRootRequest>,
    ) -> Result<Response<MountRootReply>, Status> {
        Err(Status::permission_denied("a rollback mounts the root"))
    }

    async fn shutdown(
        &self,
        request: Request<ShutdownRequest>,
    ) -> Result<Response<ShutdownReply>, Status> {
        let ShutdownRequest { grace_ms, first } = request.into_inner();
        let grace = grace_ms.map(|grace_ms| Duration::from_millis(grace_ms.into()));
        let signal = first.map_or(self.stop_signal.number(), |first| first.signal);
        // The shutdown continues even if its client disconnects.
        let supervisor = self.clone();
        tokio::spawn(async move { supervisor.end_with(grace, signal, None).await });
        Err(self.killed().await)
    }

    async fn power_off(
        &self,
        _: Request<PowerOffRequest>,
    ) -> Result<Response<PowerOffReply>, Status> {
        Err(Status::permission_denied("shutdown ends the machine"))
    }
}

#[async_trait]
impl SupervisorCalls for Supervisor {
    type RollBackStream = super::rollback::Events;

    async fn roll_back(
        &self,
        request: Request<Streaming<RollBackInput>>,
    ) -> Result<Response<Self::RollBackStream>, Status> {
        self.connection.count();
        let mut inputs = request.into_inner();
        let first_input = inputs.message().await?.and_then(|input| input.input);
        let Some(roll_back_input::Input::Start(start)) = first_input else {
            return Err(Status::invalid_argument("the first input is not a start"));
        };
        Self::roll_back(self, start, inputs).map(Response::new)
    }

    type AttachStream = Answers<ExecEvent>;

    async fn attach(
        &self,
        request: Request<Streaming<ExecInput>>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        self.connection.count();
        let mut inputs = request.into_inner();
        let first_input = inputs.message().await?.and_then(|input| input.input);
        let Some(Input::Attach(attach)) = first_input else {
            return Err(Status::invalid_argument("the first input does not attach"));
        };
        let first = self.first.clone();
        let first = first.ok_or_else(|| {
            Status::failed_precondition("the sandbox was created without a command")
        })?;
        let listening = first.attached.listen();
        let events = first.watch()?;
        tokio::spawn(async move {
            pass_on(&first, inputs, attach.stdin).await;
            drop(listening);
        });
        let events = ReceiverStream::new(events);
        let heartbeat = self.agent.heartbeat();
        Ok(Response::new(answers(events, heartbeat, COMMAND_TIMEOUT)))
    }

    type OwnStream = ReceiverStream<Result<OwnEvent, Status>>;

    async fn own(
        &self,
        request: Request<Streaming<OwnInput>>,
    ) -> Result<Response<Self::OwnStream>, Status> {
        let mut inputs = request.into_inner();
        let first_input = inputs.message().await?.and_then(|input| input.input);
        let Some(own_input::Input::Start(own)) = first_input else {
            return Err(Status::invalid_argument("the first input is not a start"));
        };
        if self.is_ending.load(Ordering::Relaxed) {
            return Err(Status::unavailable("the sandbox is shutting down"));
        }
        let grace = Duration::from_millis(own.grace_ms.into());
        let owner = match self.take_awaited_owner() {
            Some(owner) => owner.with_grace(grace),
            None => self.owners.add(grace),
        };
        let (sender, events) = mpsc::channel(1);
        let event = Some(own_event::Event::Owned(Owned {}));
        // The channel is empty, so there is room.
        let _ = sender.try_send(Ok(OwnEvent { event }));
        tokio::spawn(async move {
            let last_input = inputs.message().await.ok().flatten();
            let last_input = last_input.and_then(|input| input.input);
            if matches!(last_input, Some(own_input::Input::Release(_))) {
                owner.release();
            }
            drop(sender);
        });
        Ok(Response::new(ReceiverStream::new(events)))
    }

    async fn start_job(&self, request: Request<Exec>) -> Result<Response<StartJobReply>, Status> {
        self.connection.count();
        if self.pause.is_paused() {
            return Err(Status::aborted("the sandbox is paused"));
        }
        self.rollbacks.settled().await;
        self.clock.before_call().await;
        let job_id = self.jobs.start(request.into_inner()).await?;
        Ok(Response::new(StartJobReply { job_id }))
    }

    async fn signal_job(
        &self,
        request: Request<SignalJobRequest>,
    ) -> Result<Response<SignalReply>, Status> {
        let SignalJobRequest { job_id, signal } = request.into_inner();
        self.jobs.signal(job_id, signal).await?;
        Ok(Response::new(SignalReply {}))
    }

    async fn disk_errors(
        &self,
        _: Request<DiskErrorsRequest>,
    ) -> Result<Response<DiskErrorsReply>, Status> {
        let messages = self.disks.errors();
        Ok(Response::new(DiskErrorsReply { messages }))
    }

    async fn cut_disk(
        &self,
        request: Request<CutDiskRequest>,
    ) -> Result<Response<CutDiskReply>, Status> {
        self.connection.count();
        let request = request.into_inner();
        Ok(Response::new(self.cut(request).await?))
    }

    async fn replace_merged(
        &self,
        request: Request<ReplaceMergedRequest>,
    ) -> Result<Response<ReplaceMergedReply>, Status> {
        self.connection.count();
        Self::replace_merged(self, &request.into_inner()).await?;
        Ok(Response::new(ReplaceMergedReply {}))
    }
}

/// Passes an attached client's input on until the client sends no more.
async fn pass_on(first: &MainCommand, mut inputs: Streaming<ExecInput>, takes_stdin: bool) {
    while let Ok(Some(input)) = inputs.message().await {
        match input.input {
            Some(Input::Stdin(bytes)) if takes_stdin && bytes.is_empty() => {
                first.end_input().await;
            }
            Some(Input::Stdin(bytes)) if takes_stdin => {
                first.feed(bytes).await;
            }
            _ => {}
        }
    }
}
