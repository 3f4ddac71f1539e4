//! The service of the tests, and its peers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncWriteExt as _, DuplexStream};
use tokio::task::JoinHandle;
use ttrpc::{
    Call, Client, Code, Frame, FrameKind, Received, Response, ServeError, Service, Status,
};

/// The name of the service.
pub(crate) const SERVICE: &str = "tests.Service";

/// A service that counts the calls it is answering.
#[derive(Default)]
pub(crate) struct Tests {
    pub(crate) open: AtomicUsize,
}

/// A call that is being answered.
struct Open<'a>(&'a AtomicUsize);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Service for Tests {
    async fn call(&self, call: Call) -> Result<Vec<u8>, Status> {
        self.open.fetch_add(1, Ordering::SeqCst);
        let _open = Open(&self.open);
        match call.method.as_str() {
            "Echo" => Ok(call.payload),
            "Namespace" => {
                let name = call.metadata.get("namespace").unwrap_or("none");
                Ok(prost::Message::encode_to_vec(&name.to_owned()))
            }
            "Long" => Ok(vec![0; 5 << 20]),
            "Missing" => Err(Status::new(Code::NotFound, "it is gone")),
            "Never" => std::future::pending().await,
            _ => Err(call.unimplemented()),
        }
    }
}

/// Returns a client of the service.
pub(crate) fn client() -> Client {
    Client::new(served().0)
}

/// Returns a stream to the service, the service, and its server.
pub(crate) fn served() -> (DuplexStream, Arc<Tests>, JoinHandle<Result<(), ServeError>>) {
    let (near, far) = tokio::io::duplex(64 << 10);
    let service = Arc::new(Tests::default());
    let server = tokio::spawn(ttrpc::serve(far, Arc::clone(&service)));
    (near, service, server)
}

/// Returns the frame of a request.
pub(crate) fn request(stream: u32, method: &str) -> Frame {
    let request = ttrpc::Request {
        service: SERVICE.to_owned(),
        method: method.to_owned(),
        ..ttrpc::Request::default()
    };
    Frame {
        stream,
        kind: FrameKind::Request,
        flags: 0,
        message: prost::Message::encode_to_vec(&request),
    }
}

/// Sends a frame.
pub(crate) async fn send(to: &mut DuplexStream, frame: &Frame) {
    let bytes = frame.to_bytes().expect("it is short");
    to.write_all(&bytes).await.expect("it is open");
}

/// Returns the number of the next answer's call, and the code of the answer.
pub(crate) async fn answer(from: &mut DuplexStream) -> (u32, Code) {
    let Received::Frame(frame) = ttrpc::receive(from).await.expect("it is open") else {
        panic!("no frame came");
    };
    assert_eq!(frame.kind, FrameKind::Response);
    let response: Response = prost::Message::decode(&*frame.message).expect("it is an answer");
    let code = response.status.map_or(0, |status| status.code);
    (frame.stream, Code::from_number(code))
}
