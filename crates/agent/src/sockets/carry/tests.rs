use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;

use super::*;

/// A connection that is carried: the process's end, the host's inputs, and the events for the host.
struct Carried {
    process: UnixStream,
    inputs: mpsc::Sender<Result<ConnectInput, Status>>,
    events: mpsc::Receiver<Result<ConnectEvent, Status>>,
    carrying: JoinHandle<()>,
}

impl Carried {
    async fn begin() -> Self {
        let (socket, process) = UnixStream::pair().expect("a pair");
        let (inputs, pending) = mpsc::channel(1);
        let (host, events) = mpsc::channel(1);
        let carrying = tokio::spawn(async move {
            carry(socket, ReceiverStream::new(pending), &Host(host)).await;
        });
        let mut carried = Self {
            process,
            inputs,
            events,
            carrying,
        };
        assert_eq!(carried.event().await, Some(Event::Connected(Connected {})));
        carried
    }

    async fn event(&mut self) -> Option<Event> {
        let event = self.events.recv().await?;
        event.expect("no status").event
    }

    async fn send(&self, input: Input) {
        let input = Some(input);
        self.inputs
            .send(Ok(ConnectInput { input }))
            .await
            .expect("sent");
    }
}

#[tokio::test]
async fn each_direction_ends_by_itself() {
    let mut carried = Carried::begin().await;
    carried.send(Input::Data(Bytes::from_static(b"in"))).await;
    carried.send(Input::End(ConnectEnd {})).await;
    let mut read = Vec::new();
    carried.process.read_to_end(&mut read).await.expect("read");
    assert_eq!(read, b"in");
    carried.process.write_all(b"out").await.expect("written");
    let data = Event::Data(Bytes::from_static(b"out"));
    assert_eq!(carried.event().await, Some(data));
    carried.process.shutdown().await.expect("ended");
    assert_eq!(carried.event().await, Some(Event::End(ConnectEnd {})));
    assert_eq!(carried.event().await, None);
}

#[tokio::test]
async fn a_host_that_leaves_closes_the_connection() {
    let Carried {
        mut process,
        inputs,
        events: _events,
        carrying,
    } = Carried::begin().await;
    drop(inputs);
    carrying.await.expect("it ended");
    assert_eq!(process.read(&mut [0]).await.expect("closed"), 0);
}

#[tokio::test]
async fn what_a_process_sent_before_it_closed_arrives() {
    let Carried {
        mut process,
        inputs,
        mut events,
        ..
    } = Carried::begin().await;
    process.write_all(b"last").await.expect("written");
    drop(process);
    let data = Some(Input::Data(Bytes::from_static(b"too late")));
    let _ = inputs.send(Ok(ConnectInput { input: data })).await;
    let event = events.recv().await.expect("an event").expect("no status");
    let data = Event::Data(Bytes::from_static(b"last"));
    assert_eq!(event.event, Some(data));
}

#[tokio::test]
async fn a_process_that_does_not_read_stops_the_host() {
    let carried = Carried::begin().await;
    let chunk = Bytes::from(vec![0; READ_BYTES]);
    let mut sent = 0;
    let input = || ConnectInput {
        input: Some(Input::Data(chunk.clone())),
    };
    // The socket's buffer and the channel hold some chunks; the rest waits.
    loop {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        if carried.inputs.try_send(Ok(input())).is_err() {
            break;
        }
        sent += 1;
        assert!(sent < 1000, "it was never stopped");
    }
}
