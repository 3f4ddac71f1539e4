use msb_agent_protocol::v1::{AcceptRequest, Attach, Exec};
use msb_agent_protocol::{
    Bytes, Client, ClientError, Connection, Passage, Proxy, Target, VERSION, async_trait,
    serve_sockets,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::guest::boot;

#[tokio::test]
async fn each_direction_of_a_connection_ends_by_itself() {
    let mut client = boot(VERSION).await;
    let target = Target::Path(Bytes::from_static(b"/run/echo"));
    let socket = client.connect_socket(target).await.expect("connected");
    let (mut here, there) = tokio::io::duplex(16);
    let joined = tokio::spawn(socket.join(there));
    let sent = vec![7; 300_000];
    let (mut reader, mut writer) = tokio::io::split(&mut here);
    let writing = async {
        writer.write_all(&sent).await.expect("written");
        writer.shutdown().await.expect("ended");
    };
    let mut received = Vec::new();
    let (_, read) = tokio::join!(writing, reader.read_to_end(&mut received));
    read.expect("read");
    assert!(received == sent);
    joined.await.expect("no panic").expect("both ends are over");
}

#[tokio::test]
async fn a_refused_connection_says_why() {
    let mut client = boot(VERSION).await;
    let target = Target::Tcp(String::new(), 1);
    let refused = client.connect_socket(target).await.expect_err("refused");
    let ClientError::Socket { errno, message } = refused else {
        panic!("{refused}");
    };
    assert_eq!(errno, 111);
    assert!(message.ends_with("Connection refused"), "{message}");
}

#[tokio::test]
async fn an_accepted_connection_is_taken_by_its_number() {
    let mut client = boot(VERSION).await;
    let mut accepts = client
        .accept(AcceptRequest::default())
        .await
        .expect("listening");
    let accepted = accepts.next().await.expect("read").expect("a connection");
    let mut socket = client.carry(accepted.id).await.expect("taken");
    assert!(socket.writer.send(Bytes::from_static(b"hello")).await);
    let bytes = socket.reader.next().await.expect("read");
    assert_eq!(bytes, Some(Bytes::from_static(b"hello")));
    socket.writer.end().await;
    assert_eq!(socket.reader.next().await.expect("read"), None);
    socket.reader.ended().await.expect("the call is over");
}

/// A supervisor that passes on all calls that it is given.
struct Way(Connection);

#[async_trait]
impl Proxy for Way {
    async fn passage(&self, _: &str) -> Passage {
        Passage {
            agent: self.0.clone(),
            unanswered: Box::pin(std::future::pending()),
            silent: Box::pin(std::future::pending()),
        }
    }
}

#[tokio::test]
async fn the_process_of_sockets_is_served_no_other_call() {
    let agent = boot(VERSION).await;
    let (near, far) = tokio::io::duplex(1 << 16);
    tokio::spawn(serve_sockets(far, Way(agent.connection())));
    let client = Client::connect_without_limit(near).await;
    let mut client = client.expect("connected");
    let request = AcceptRequest::default();
    let mut accepts = client.accept(request).await.expect("listening");
    let accepted = accepts.next().await.expect("read").expect("a connection");
    let socket = client.carry(accepted.id).await.expect("taken");
    assert!(socket.writer.send(Bytes::from_static(b"hello")).await);
    // The agent answers these, and the supervisor the others.
    client.hello().await.expect_err("refused");
    client.stats().await.expect_err("refused");
    let command = client.exec(Exec::default()).await;
    command.expect_err("refused");
    let target = Target::Path(Bytes::from_static(b"/run/echo"));
    let connected = client.connect_socket(target).await;
    connected.expect_err("refused");
    client.pause().await.expect_err("refused");
    let shut_down = client.shutdown(None, None).await;
    shut_down.expect_err("refused");
    let attached = client.attach(Attach::default()).await;
    attached.expect_err("refused");
    let job = client.start_job(Exec::default()).await;
    job.expect_err("refused");
    let changed = client.change_network(Default::default()).await;
    changed.expect_err("refused");
}
