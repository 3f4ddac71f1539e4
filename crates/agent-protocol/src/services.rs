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
use crate::proxy::{PASSED_ON, Proxy};
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

/// Returns the agent's only service.
pub(crate) fn agent_service<S: Sandbox>(service: S) -> SandboxServer<S> {
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
                match PASSED_ON.iter().find(|passed| **passed == call) {
                    Some(call) => pass(self.proxy.clone(), call, request),
                    None => refused(&path),
                }
            }
            _ => refused(&path),
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

    #[test]
    fn each_call_is_passed_on_answered_or_refused() {
        let proto = include_str!("../proto/msb/v1/sandbox.proto");
        let service = proto.split("service ").nth(1).expect("a service");
        let calls = service.lines().filter_map(|line| {
            let call = line.trim_start().strip_prefix("rpc ")?;
            call.split('(').next()
        });
        let mut calls: Vec<_> = calls.collect();
        calls.sort_unstable();
        let mut decided = [&PASSED_ON[..], &ANSWERED, &REFUSED].concat();
        decided.sort_unstable();
        assert_eq!(calls, decided);
    }
}
