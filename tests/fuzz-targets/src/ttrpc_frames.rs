//! Frames of ttrpc: a server that is given any bytes answers or refuses each call, and a client that is given any
//! answers ends its calls. What is accepted as a message of containerd has the same value after a round trip.

use std::fmt::Debug;
use std::io::Cursor;
use std::sync::Arc;

use containerd_protocol::Message;
use containerd_protocol::bootstrap::BootstrapParams;
use containerd_protocol::events::ForwardRequest;
use containerd_protocol::task::{CreateTaskRequest, ExecProcessRequest, UpdateTaskRequest};
use tokio::io::{join, sink};
use tokio::runtime::Builder;
use ttrpc::{Call, CallOptions, Client, Service, Status};

/// A service whose every method reads its request as one of the messages.
struct Reader;

impl Service for Reader {
    async fn call(&self, call: Call) -> Result<Vec<u8>, Status> {
        match call.method.as_str() {
            "Create" => round_trip::<CreateTaskRequest>(&call),
            "Exec" => round_trip::<ExecProcessRequest>(&call),
            "Update" => round_trip::<UpdateTaskRequest>(&call),
            "Forward" => round_trip::<ForwardRequest>(&call),
            "Start" => round_trip::<BootstrapParams>(&call),
            _ => Err(call.unimplemented()),
        }
    }
}

/// Serves `bytes` as the requests of a client, and gives them to a client as its answers.
///
/// # Panics
/// If an accepted message is written and read as another one, or a call has no end.
pub fn run(bytes: &[u8]) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let runtime = runtime.expect("a runtime of one thread starts");
    runtime.block_on(async {
        let stream = join(Cursor::new(bytes.to_vec()), sink());
        // It may end within a frame.
        let _ = ttrpc::serve(stream, Arc::new(Reader)).await;

        let client = Client::new(join(Cursor::new(bytes.to_vec()), sink()));
        let request = CreateTaskRequest::default();
        let call = client.call::<_, CreateTaskRequest>(
            "service",
            "Create",
            &request,
            &CallOptions::default(),
        );
        let limit = std::time::Duration::from_secs(60);
        let ended = tokio::time::timeout(limit, call).await;
        assert!(ended.is_ok(), "a call did not end with its connection");
    });
}

fn round_trip<M: Message + Default + PartialEq + Debug>(call: &Call) -> Result<Vec<u8>, Status> {
    let message: M = call.decode()?;
    let bytes = message.encode_to_vec();
    assert_eq!(M::decode(&*bytes).as_ref(), Ok(&message));
    Ok(bytes)
}
