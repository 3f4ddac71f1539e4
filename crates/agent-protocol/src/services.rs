use std::convert::Infallible;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use tonic::body::Body;
use tonic::codegen::BoxFuture;
use tonic::server::NamedService as _;
use tower_service::Service;

use crate::MESSAGE_MAX_BYTES;
use crate::v1::keeper_server::{Keeper, KeeperServer};
use crate::v1::sandbox_server::{Sandbox, SandboxServer};

/// The services of the supervisor. A call goes to the service that its path names.
#[derive(Debug)]
pub(crate) struct Services<S> {
    sandbox: SandboxServer<S>,
    keeper: KeeperServer<S>,
}

impl<S: Sandbox + Keeper + Clone> Services<S> {
    pub(crate) fn new(service: S) -> Self {
        let keeper = KeeperServer::new(service.clone());
        Self {
            sandbox: agent_service(service),
            keeper: keeper.max_decoding_message_size(MESSAGE_MAX_BYTES),
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
            keeper: self.keeper.clone(),
        }
    }
}

impl<S: Sandbox + Keeper> Service<Request<Incoming>> for Services<S> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let service = request.uri().path().split('/').nth(1);
        if service == Some(KeeperServer::<S>::NAME) {
            self.keeper.call(request)
        } else {
            // The service answers unknown calls with `UNIMPLEMENTED`.
            self.sandbox.call(request)
        }
    }
}
