//! The calls on containers, beside those of the sandbox on one connection.

use msb_agent_protocol::v1::containers_server::Containers;
use msb_agent_protocol::v1::exec_event::Event;
use msb_agent_protocol::v1::{
    ContainerEvent, ContainerPidsReply, ContainerPidsRequest, ContainerStatsReply,
    ContainerStatsRequest, CreateContainerReply, CreateContainerRequest, DeleteContainerReply,
    DeleteContainerRequest, ExecEvent, ExecInput, ExitStatus, PauseContainerReply,
    PauseContainerRequest, ResizeContainerReply, ResizeContainerRequest, ResumeContainerReply,
    ResumeContainerRequest, SignalContainerReply, SignalContainerRequest, Started,
    UpdateContainerReply, UpdateContainerRequest, WatchContainersRequest, exec_input, exit_status,
};
use msb_agent_protocol::{
    Bytes, Client, ClientError, Code, Output, Request, Response, Status, Streaming, VERSION,
    async_trait,
};
use tokio_stream::wrappers::ReceiverStream;

use crate::guest::{Guest, boot, serve_clients};

type Events<T> = ReceiverStream<Result<T, Status>>;

/// The only container of the guest.
const ID: &str = "web";

fn lacking<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("not in this guest"))
}

#[async_trait]
impl Containers for Guest {
    async fn create(
        &self,
        _: Request<CreateContainerRequest>,
    ) -> Result<Response<CreateContainerReply>, Status> {
        lacking()
    }

    type StartStream = Events<ExecEvent>;

    /// Says its id, and exits.
    async fn start(
        &self,
        request: Request<Streaming<ExecInput>>,
    ) -> Result<Response<Events<ExecEvent>>, Status> {
        let first = request.into_inner().message().await?;
        let Some(exec_input::Input::StartContainer(start)) = first.and_then(|first| first.input)
        else {
            return Err(Status::invalid_argument("the first input is not a start"));
        };
        if start.container_id != ID {
            return Err(Status::not_found("there is no such container"));
        }
        let exited = ExitStatus {
            status: Some(exit_status::Status::Code(5)),
            ..ExitStatus::default()
        };
        let events = [
            Event::Started(Started { exec_id: 1, pid: 7 }),
            Event::Stdout(Bytes::from(start.container_id)),
            Event::Exited(exited),
        ];
        let (sender, receiver) = tokio::sync::mpsc::channel(events.len());
        for event in events {
            let event = ExecEvent { event: Some(event) };
            let _ = sender.try_send(Ok(event));
        }
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    type ExecStream = Events<ExecEvent>;

    async fn exec(
        &self,
        _: Request<Streaming<ExecInput>>,
    ) -> Result<Response<Events<ExecEvent>>, Status> {
        lacking()
    }

    async fn signal(
        &self,
        _: Request<SignalContainerRequest>,
    ) -> Result<Response<SignalContainerReply>, Status> {
        lacking()
    }

    async fn resize(
        &self,
        _: Request<ResizeContainerRequest>,
    ) -> Result<Response<ResizeContainerReply>, Status> {
        lacking()
    }

    type WatchStream = Events<ContainerEvent>;

    async fn watch(
        &self,
        _: Request<WatchContainersRequest>,
    ) -> Result<Response<Events<ContainerEvent>>, Status> {
        lacking()
    }

    async fn pids(
        &self,
        _: Request<ContainerPidsRequest>,
    ) -> Result<Response<ContainerPidsReply>, Status> {
        Ok(Response::new(ContainerPidsReply { pids: vec![7, 8] }))
    }

    async fn stats(
        &self,
        _: Request<ContainerStatsRequest>,
    ) -> Result<Response<ContainerStatsReply>, Status> {
        lacking()
    }

    async fn update(
        &self,
        _: Request<UpdateContainerRequest>,
    ) -> Result<Response<UpdateContainerReply>, Status> {
        lacking()
    }

    async fn pause(
        &self,
        _: Request<PauseContainerRequest>,
    ) -> Result<Response<PauseContainerReply>, Status> {
        lacking()
    }

    async fn resume(
        &self,
        _: Request<ResumeContainerRequest>,
    ) -> Result<Response<ResumeContainerReply>, Status> {
        lacking()
    }

    async fn delete(
        &self,
        _: Request<DeleteContainerRequest>,
    ) -> Result<Response<DeleteContainerReply>, Status> {
        lacking()
    }
}

#[tokio::test]
async fn both_services_are_on_one_connection() {
    let mut client = boot(VERSION).await;
    client.hello().await.expect("the sandbox answers");
    let mut containers = client.containers();
    let pids = containers.pids(ContainerPidsRequest::default()).await;
    let pids = pids.expect("the containers answer").into_inner();
    assert_eq!(pids.pids, [7, 8]);
}

#[tokio::test]
async fn a_container_is_started_as_a_command_is() {
    let mut client = boot(VERSION).await;
    let mut command = client.start_container(ID).await.expect("started");
    assert_eq!(command.pid, 7);
    let said = command.outputs.next().await.expect("an event");
    assert_eq!(said, Some(Output::Stdout(Bytes::from_static(b"web"))));
    let refused = client.start_container("other").await;
    match refused.expect_err("no such container") {
        ClientError::Files { code, .. } => assert_eq!(code, Code::NotFound),
        error => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_guest_without_containers_says_so() {
    let (near, far) = tokio::io::duplex(4096);
    serve_clients(far);
    let mut client = Client::connect(near).await.expect("connected");
    let refused = client.start_container(ID).await;
    let refused = refused.expect_err("no such service");
    assert!(
        matches!(refused, ClientError::Unimplemented { .. }),
        "{refused}"
    );
}
