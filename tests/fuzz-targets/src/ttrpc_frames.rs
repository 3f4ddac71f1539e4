//! Frames of ttrpc: a server that is given any bytes answers or refuses each call, and a client that is given any
//! answers ends its calls. What is accepted as a message of containerd has the same value after a round trip.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use containerd_protocol::Message;
use containerd_protocol::bootstrap::BootstrapParams;
use containerd_protocol::events::ForwardRequest;
use containerd_protocol::task::{CreateTaskRequest, ExecProcessRequest, UpdateTaskRequest};
use tokio::io::{AsyncWriteExt as _, duplex, join, sink};
use tokio::runtime::Builder;
use tokio::time::timeout;
use ttrpc::{Call, CallOptions, Client, Service, Status};

/// A service whose every method reads its request as one of the messages.
#[derive(Default)]
struct Reader {
    /// True if a message changed. A panic would end the call's task only.
    is_changed: AtomicBool,
}

impl Service for Reader {
    async fn call(&self, call: Call) -> Result<Vec<u8>, Status> {
        match call.method.as_str() {
            "Create" => self.round_trip::<CreateTaskRequest>(&call),
            "Exec" => self.round_trip::<ExecProcessRequest>(&call),
            "Update" => self.round_trip::<UpdateTaskRequest>(&call),
            "Forward" => self.round_trip::<ForwardRequest>(&call),
            "Start" => self.round_trip::<BootstrapParams>(&call),
            _ => Err(call.unimplemented()),
        }
    }
}

impl Reader {
    fn round_trip<M: Message + Default + PartialEq>(&self, call: &Call) -> Result<Vec<u8>, Status> {
        let message: M = call.decode()?;
        let bytes = message.encode_to_vec();
        if M::decode(&*bytes).as_ref() != Ok(&message) {
            self.is_changed.store(true, Ordering::SeqCst);
        }
        Ok(bytes)
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
        // The connection stays open, so that every call is answered; the clock goes on when all have been.
        let (mut near, far) = duplex(1 << 20);
        let reader = Arc::new(Reader::default());
        let server = ttrpc::serve(far, Arc::clone(&reader));
        let served = async { tokio::join!(server, near.write_all(bytes)) };
        let _ = timeout(Duration::from_secs(1), served).await;
        assert!(
            !reader.is_changed.load(Ordering::SeqCst),
            "a message changed"
        );

        let client = Client::new(join(Cursor::new(bytes.to_vec()), sink()));
        let (request, options) = (CreateTaskRequest::default(), CallOptions::default());
        let call = client.call::<_, CreateTaskRequest>("service", "Create", &request, &options);
        let ended = timeout(Duration::from_secs(60), call).await;
        assert!(ended.is_ok(), "a call did not end with its connection");
    });
}
