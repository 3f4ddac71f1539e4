use msb_agent_protocol::v1::containers_server;
use msb_agent_protocol::v1::{
    ContainerEvent, ContainerPidsReply, ContainerPidsRequest, ContainerStatsReply,
    ContainerStatsRequest, CreateContainerReply, CreateContainerRequest, DeleteContainerReply,
    DeleteContainerRequest, ExecInput, PauseContainerReply, PauseContainerRequest,
    ResizeContainerReply, ResizeContainerRequest, ResumeContainerReply, ResumeContainerRequest,
    SignalContainerReply, SignalContainerRequest, UpdateContainerReply, UpdateContainerRequest,
    WatchContainersRequest, exec_input,
};
use msb_agent_protocol::{Request, Response, Status, Streaming, async_trait};

use super::Containers;
use crate::exec::Events;
use crate::files::Answers;

#[async_trait]
impl containers_server::Containers for Containers {
    async fn create(
        &self,
        request: Request<CreateContainerRequest>,
    ) -> Result<Response<CreateContainerReply>, Status> {
        let pid = Self::create(self, request.into_inner()).await?;
        Ok(Response::new(CreateContainerReply { pid }))
    }

    type StartStream = Events;

    async fn start(
        &self,
        request: Request<Streaming<ExecInput>>,
    ) -> Result<Response<Events>, Status> {
        let mut inputs = request.into_inner();
        match inputs.message().await?.and_then(|input| input.input) {
            Some(exec_input::Input::StartContainer(start)) => {
                let events = Self::start(self, start, inputs).await?;
                Ok(Response::new(events))
            }
            _ => Err(Status::invalid_argument("the first input is not a start")),
        }
    }

    type ExecStream = Events;

    async fn exec(
        &self,
        request: Request<Streaming<ExecInput>>,
    ) -> Result<Response<Events>, Status> {
        let mut inputs = request.into_inner();
        match inputs.message().await?.and_then(|input| input.input) {
            Some(exec_input::Input::ExecContainer(exec)) => {
                let events = Self::exec(self, exec, inputs).await?;
                Ok(Response::new(events))
            }
            _ => Err(Status::invalid_argument("the first input is not a process")),
        }
    }

    async fn signal(
        &self,
        request: Request<SignalContainerRequest>,
    ) -> Result<Response<SignalContainerReply>, Status> {
        Self::signal(self, request.into_inner()).await?;
        Ok(Response::new(SignalContainerReply {}))
    }

    async fn resize(
        &self,
        request: Request<ResizeContainerRequest>,
    ) -> Result<Response<ResizeContainerReply>, Status> {
        Self::resize(self, request.get_ref())?;
        Ok(Response::new(ResizeContainerReply {}))
    }

    type WatchStream = Answers<ContainerEvent>;

    async fn watch(
        &self,
        _: Request<WatchContainersRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(Self::watch(self)))
    }

    async fn pids(
        &self,
        request: Request<ContainerPidsRequest>,
    ) -> Result<Response<ContainerPidsReply>, Status> {
        let pids = Self::pids(self, &request.get_ref().container_id).await?;
        Ok(Response::new(ContainerPidsReply { pids }))
    }

    async fn stats(
        &self,
        request: Request<ContainerStatsRequest>,
    ) -> Result<Response<ContainerStatsReply>, Status> {
        let stats = Self::stats(self, &request.get_ref().container_id).await?;
        Ok(Response::new(stats))
    }

    async fn update(
        &self,
        request: Request<UpdateContainerRequest>,
    ) -> Result<Response<UpdateContainerReply>, Status> {
        Self::update(self, request.into_inner()).await?;
        Ok(Response::new(UpdateContainerReply {}))
    }

    async fn pause(
        &self,
        request: Request<PauseContainerRequest>,
    ) -> Result<Response<PauseContainerReply>, Status> {
        Self::pause(self, &request.get_ref().container_id).await?;
        Ok(Response::new(PauseContainerReply {}))
    }

    async fn resume(
        &self,
        request: Request<ResumeContainerRequest>,
    ) -> Result<Response<ResumeContainerReply>, Status> {
        Self::resume(self, &request.get_ref().container_id)?;
        Ok(Response::new(ResumeContainerReply {}))
    }

    async fn delete(
        &self,
        request: Request<DeleteContainerRequest>,
    ) -> Result<Response<DeleteContainerReply>, Status> {
        Self::delete(self, &request.get_ref().container_id).await?;
        Ok(Response::new(DeleteContainerReply {}))
    }
}
