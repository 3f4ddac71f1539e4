use std::convert::Infallible;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use tonic::body::Body;
use tonic::codegen::BoxFuture;
use tonic::server::NamedService as _;
use tower_service::Service;

use crate::MESSAGE_MAX_BYTES;
use crate::v1::sandbox_server::{Sandbox, SandboxServer};
use crate::v1::supervisor_server::{Supervisor, SupervisorServer};

/// The services of the supervisor. A call goes to the service that its path names.
#[derive(Debug)]
pub(crate) struct Services<S> {
    sandbox: SandboxServer<S>,
    supervisor: SupervisorServer<S>,
}

impl<S: Sandbox + Supervisor + Clone> Services<S> {
    pub(crate) fn new(service: S) -> Self {
        let supervisor = SupervisorServer::new(service.clone());
        Self {
            sandbox: agent_service(service),
            supervisor: supervisor.max_decoding_message_size(MESSAGE_MAX_BYTES),
        }
    }
}

/// Returns the agent's only service.
pub(crate) fn agent_service<S: Sandbox>(service: S) -> SandboxServer<S> {
    SandboxServer::new(service).max_decoding_message_size(MESSAGE_MAX_BYTES)
}

impl<S> Clone for Services<S> {
    fn clone(&self) -> Self {
        Self {
            sandbox: self.sandbox.clone(),
            supervisor: self.supervisor.clone(),
        }
    }
}

impl<S: Sandbox + Supervisor> Service<Request<Incoming>> for Services<S> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let service = request.uri().path().split('/').nth(1);
        if service == Some(SupervisorServer::<S>::NAME) {
            self.supervisor.call(request)
        } else {
            // The service answers unknown calls with `UNIMPLEMENTED`.
            self.sandbox.call(request)
        }
    }
}
