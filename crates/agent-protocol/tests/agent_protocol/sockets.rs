use msb_agent_protocol::v1::AcceptRequest;
use msb_agent_protocol::{Bytes, ClientError, Target, VERSION};
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
