use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use tonic::body::Body;
use tonic::codegen::BoxFuture;
use tower_service::Service;

use crate::proxy::Proxy;
use crate::services::{pass, refused};
use crate::v1::sandbox_server::SERVICE_NAME;

/// The calls of the process that forwards sockets: it listens in the guest, and takes connections that were accepted there.
const CALLS: [&str; 2] = ["Accept", "Carry"];

/// The service for the process that forwards sockets. The process parses what the guest sends, so it is not trusted with
/// any other call: it cannot run commands, read files or end the sandbox.
#[derive(Debug)]
pub(crate) struct SocketService<P>(Arc<P>);

impl<P> SocketService<P> {
    pub(crate) fn new(proxy: P) -> Self {
        Self(Arc::new(proxy))
    }
}

impl<P> Clone for SocketService<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<P: Proxy> Service<Request<Incoming>> for SocketService<P> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let path = request.uri().path();
        let call = match path.trim_start_matches('/').split_once('/') {
            Some((SERVICE_NAME, call)) => CALLS.iter().find(|known| **known == call),
            _ => None,
        };
        match call {
            Some(call) => pass(self.0.clone(), call, request),
            None => refused(path),
        }
    }
}
