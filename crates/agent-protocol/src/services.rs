use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::uri::PathAndQuery;
use http::{Request, Response};
use hyper::body::Incoming;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::BoxFuture;
use tower_service::Service;

use crate::MESSAGE_MAX_BYTES;
use crate::client::ORIGIN;
use crate::proxy::{CONTAINERS_PASSED_ON, PASSED_ON, Proxy};
use crate::v1::containers_server::{self, Containers, ContainersServer};
use crate::v1::sandbox_server::{self, Sandbox, SandboxServer};
use crate::v1::supervisor_server::{self, Supervisor, SupervisorServer};

/// The calls of the service `Sandbox` that the supervisor answers with the calls of the same names in the
/// service `Supervisor`.
const ANSWERED: [&str; 4] = ["Hello", "Pause", "Unpause", "Shutdown"];

/// The services of the supervisor. A call goes where its path names.
#[derive(Debug)]
pub(crate) struct Services<S> {
    supervisor: SupervisorServer<S>,
    proxy: Arc<S>,
}

impl<S: Supervisor + Proxy> Services<S> {
    pub(crate) fn new(service: S) -> Self {
        let proxy = Arc::new(service);
        let supervisor = SupervisorServer::from_arc(proxy.clone());
        Self {
            supervisor: supervisor.max_decoding_message_size(MESSAGE_MAX_BYTES),
            proxy,
        }
    }
}

/// Passes a call on to the agent.
pub(crate) fn pass<P: Proxy>(
    proxy: Arc<P>,
    call: &'static str,
    request: Request<Incoming>,
) -> BoxFuture<Response<Body>, Infallible> {
    Box::pin(async move {
        let passage = proxy.passage(call).await;
        Ok(passage.pass(ORIGIN, request).await)
    })
}

/// The services of the agent. A call goes where its path names.
#[derive(Debug)]
pub(crate) struct AgentServices<S, C> {
    sandbox: SandboxServer<S>,
    containers: ContainersServer<C>,
}

impl<S: Sandbox, C: Containers> AgentServices<S, C> {
    pub(crate) fn new(sandbox: S, containers: C) -> Self {
        let containers = ContainersServer::new(containers);
        Self {
            sandbox: sandbox_service(sandbox),
            containers: containers.max_decoding_message_size(MESSAGE_MAX_BYTES),
        }
    }
}

impl<S, C> Clone for AgentServices<S, C> {
    fn clone(&self) -> Self {
        Self {
            sandbox: self.sandbox.clone(),
            containers: self.containers.clone(),
        }
    }
}

impl<S: Sandbox, C: Containers> Service<Request<Incoming>> for AgentServices<S, C> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let path = request.uri().path().trim_start_matches('/');
        let service = path.split_once('/').map(|(service, _)| service);
        if service == Some(containers_server::SERVICE_NAME) {
            self.containers.call(request)
        } else {
            // It answers that there is no other call.
            self.sandbox.call(request)
        }
    }
}

/// Returns the agent's service for the sandbox itself.
pub(crate) fn sandbox_service<S: Sandbox>(service: S) -> SandboxServer<S> {
    SandboxServer::new(service).max_decoding_message_size(MESSAGE_MAX_BYTES)
}

impl<S> Clone for Services<S> {
    fn clone(&self) -> Self {
        Self {
            supervisor: self.supervisor.clone(),
            proxy: self.proxy.clone(),
        }
    }
}

impl<S: Supervisor + Proxy> Service<Request<Incoming>> for Services<S> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        let path = request.uri().path().to_owned();
        match path.trim_start_matches('/').split_once('/') {
            Some((supervisor_server::SERVICE_NAME, _)) => self.supervisor.call(request),
            Some((sandbox_server::SERVICE_NAME, call)) => {
                if ANSWERED.contains(&call) {
                    rename(&mut request, call);
                    return self.supervisor.call(request);
                }
                self.pass_known(&PASSED_ON, call, &path, request)
            }
            Some((containers_server::SERVICE_NAME, call)) => {
                self.pass_known(&CONTAINERS_PASSED_ON, call, &path, request)
            }
            _ => refused(&path),
        }
    }
}

impl<S: Supervisor + Proxy> Services<S> {
    /// Passes a call on to the agent if it is one of these, and refuses it otherwise.
    fn pass_known(
        &self,
        known: &[&'static str],
        call: &str,
        path: &str,
        request: Request<Incoming>,
    ) -> BoxFuture<Response<Body>, Infallible> {
        match known.iter().copied().find(|known| *known == call) {
            Some(call) => pass(self.proxy.clone(), call, request),
            None => refused(path),
        }
    }
}

/// Names a call of the supervisor's own service.
fn rename(request: &mut Request<Incoming>, call: &str) {
    let path = format!("/{}/{call}", supervisor_server::SERVICE_NAME);
    if let Ok(path) = PathAndQuery::try_from(path) {
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = Some(path);
        *request.uri_mut() = http::Uri::from_parts(parts).unwrap_or_default();
    }
}

/// Answers that there is no such call.
pub(crate) fn refused(path: &str) -> BoxFuture<Response<Body>, Infallible> {
    let status = Status::unimplemented(format!(
        "the sandbox's process has no call {path} for clients"
    ));
    Box::pin(async move { Ok(status.into_http()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls that only the supervisor makes.
    const REFUSED: [&str; 6] = [
        "Ask",
        "FollowClock",
        "MountRoot",
        "PowerOff",
        "UnmountRoot",
        "WatchDisks",
    ];

    /// Returns the calls of the first service of a file, sorted.
    fn calls_of(proto: &str) -> Vec<&str> {
        let service = proto.split("\nservice ").nth(1).expect("a service");
        let calls = service.lines().filter_map(|line| {
            let call = line.trim_start().strip_prefix("rpc ")?;
            call.split('(').next()
        });
        let mut calls: Vec<_> = calls.collect();
        calls.sort_unstable();
        calls
    }

    #[test]
    fn each_call_is_passed_on_answered_or_refused() {
        let calls = calls_of(include_str!("../proto/msb/v1/sandbox.proto"));
        let mut decided = [&PASSED_ON[..], &ANSWERED, &REFUSED].concat();
        decided.sort_unstable();
        assert_eq!(calls, decided);
    }

    #[test]
    fn each_call_of_containers_is_passed_on() {
        let calls = calls_of(include_str!("../proto/msb/v1/containers.proto"));
        assert_eq!(calls, CONTAINERS_PASSED_ON);
    }
}
