//! The calls that the supervisor serves, and the way of those that it passes on to the agent.

use std::sync::atomic::Ordering;
use std::time::Duration;

use msb_agent_protocol::v1::exec_input::Input;
use msb_agent_protocol::v1::supervisor_server::Supervisor as SupervisorCalls;
use msb_agent_protocol::v1::{
    AnswerQuestionReply, AnswerQuestionRequest, ChangeNetworkReply, ChangeNetworkRequest,
    ChangeRuleReply, ChangeRuleRequest, CutDiskReply, CutDiskRequest, DiskErrorsReply,
    DiskErrorsRequest, Exec, ExecEvent, ExecInput, HelloReply, HelloRequest, KeepNetworkInput,
    OwnEvent, OwnInput, Owned, PauseReply, PauseRequest, ReplaceMergedReply, ReplaceMergedRequest,
    RollBackInput, ShutdownReply, ShutdownRequest, SignalJobRequest, SignalReply, StartJobReply,
    UnpauseReply, UnpauseRequest, WatchQuestionsRequest, keep_network_input, own_event, own_input,
    roll_back_input,
};
use msb_agent_protocol::{Passage, Proxy, Request, Response, Status, Streaming, async_trait};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::Supervisor;
use super::call_timeout::{ANSWER_TIMEOUT, Answers, COMMAND_TIMEOUT, answered, answers, silence};
use super::main_command::MainCommand;
use super::network_link::KeepEvents;

impl Supervisor {
    /// Waits until the guest takes calls: it refuses them while it is rolled back. If that fails, the
    /// machine ends.
    async fn settled(&self) {
        self.connection.count();
        self.rollbacks.settled().await;
        self.clock.before_call().await;
    }
}

#[async_trait]
impl Proxy for Supervisor {
    async fn passage(&self, call: &str) -> Passage {
        self.settled().await;
        let limit = match call {
            "Exec" | "Start" => COMMAND_TIMEOUT,
            _ => ANSWER_TIMEOUT,
        };
        Passage {
            agent: self.agent.connection(),
            unanswered: silence(self.agent.heartbeat(), ANSWER_TIMEOUT),
            silent: silence(self.agent.heartbeat(), limit),
        }
    }
}

#[async_trait]
impl SupervisorCalls for Supervisor {
    /// The guest answers once: the answer is about its boot. The call that follows finds out whether
    /// the guest still answers.
    async fn hello(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        self.connection.count();
        self.rollbacks.settled().await;
        let asked = self.greeting.get_or_try_init(async || {
            self.clock.before_call().await;
            let mut agent = self.agent.raw();
            let answer = answered(self.agent.heartbeat(), agent.hello(request.into_inner())).await;
            match answer {
                Ok(reply) => Ok(reply.into_inner()),
                // Without the metadata that a guest may have added.
                Err(status) => Err(Status::new(status.code(), status.message())),
            }
        });
        let greeting = asked.await?.clone();
        Ok(Response::new(greeting))
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
        self.settled().await;
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

    type WatchQuestionsStream = super::questions::Events;

    async fn watch_questions(
        &self,
        _: Request<WatchQuestionsRequest>,
    ) -> Result<Response<Self::WatchQuestionsStream>, Status> {
        self.questions.listen().map(Response::new)
    }

    async fn answer_question(
        &self,
        request: Request<AnswerQuestionRequest>,
    ) -> Result<Response<AnswerQuestionReply>, Status> {
        self.questions.answer(request.get_ref())?;
        Ok(Response::new(AnswerQuestionReply {}))
    }

    async fn change_rule(
        &self,
        request: Request<ChangeRuleRequest>,
    ) -> Result<Response<ChangeRuleReply>, Status> {
        self.shares.change_rule(request.into_inner()).await?;
        Ok(Response::new(ChangeRuleReply {}))
    }

    async fn change_network(
        &self,
        request: Request<ChangeNetworkRequest>,
    ) -> Result<Response<ChangeNetworkReply>, Status> {
        self.network.change_rules(&request.into_inner()).await?;
        Ok(Response::new(ChangeNetworkReply {}))
    }

    type KeepNetworkStream = KeepEvents;

    async fn keep_network(
        &self,
        request: Request<Streaming<KeepNetworkInput>>,
    ) -> Result<Response<Self::KeepNetworkStream>, Status> {
        let mut inputs = request.into_inner();
        let first_input = inputs.message().await?.and_then(|input| input.input);
        let Some(keep_network_input::Input::Rules(rules)) = first_input else {
            return Err(Status::invalid_argument("the first input has no rules"));
        };
        self.network.keep_rules(&rules, inputs).map(Response::new)
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
