//! Clients that do not keep to the protocol, or ask for too much.

use std::sync::atomic::Ordering;

use tokio::io::AsyncWriteExt as _;
use ttrpc::{CALLS_MAX, Code, Frame, FrameKind, MESSAGE_MAX_BYTES, STREAM_OPEN, ServeError};

use crate::service::{answer, request, send, served};

#[tokio::test]
async fn numbers_of_calls_are_odd_and_ascend() {
    let (mut near, _, _server) = served();
    for (stream, code) in [
        (2, Code::InvalidArgument),
        (0, Code::InvalidArgument),
        (3, Code::Ok),
        (3, Code::InvalidArgument),
        (1, Code::InvalidArgument),
        (u32::MAX, Code::Ok),
    ] {
        send(&mut near, &request(stream, "Echo")).await;
        assert_eq!(answer(&mut near).await, (stream, code));
    }
}

#[tokio::test]
async fn streaming_is_refused_and_other_frames_are_ignored() {
    let (mut near, _, _server) = served();
    let streaming = Frame {
        flags: STREAM_OPEN,
        ..request(1, "Echo")
    };
    send(&mut near, &streaming).await;
    assert_eq!(answer(&mut near).await, (1, Code::Unimplemented));
    for kind in [FrameKind::Data, FrameKind::Response, FrameKind::Unknown(9)] {
        send(
            &mut near,
            &Frame {
                kind,
                ..request(1, "Echo")
            },
        )
        .await;
    }
    send(&mut near, &request(3, "Echo")).await;
    assert_eq!(answer(&mut near).await, (3, Code::Ok));
}

#[tokio::test]
async fn bytes_that_are_no_request_are_answered() {
    let (mut near, _, _server) = served();
    let broken = Frame {
        message: vec![0xff; 40],
        ..request(1, "Echo")
    };
    send(&mut near, &broken).await;
    assert_eq!(answer(&mut near).await, (1, Code::InvalidArgument));
    // 129 entries of metadata, each without a name and a value.
    let mut many = request(3, "Echo");
    many.message.extend([0x2a, 0].repeat(129));
    send(&mut near, &many).await;
    assert_eq!(answer(&mut near).await, (3, Code::InvalidArgument));
    send(&mut near, &request(5, "Echo")).await;
    assert_eq!(answer(&mut near).await, (5, Code::Ok));
}

#[tokio::test]
async fn a_message_above_the_limit_is_skipped() {
    let (mut near, _, _server) = served();
    let header = (MESSAGE_MAX_BYTES + 1).to_be_bytes();
    near.write_all(&header).await.expect("it is open");
    near.write_all(&[0, 0, 0, 1, 1, 0])
        .await
        .expect("it is open");
    let body = vec![0; usize::try_from(MESSAGE_MAX_BYTES).expect("it fits") + 1];
    near.write_all(&body).await.expect("it is open");
    assert_eq!(answer(&mut near).await, (1, Code::ResourceExhausted));
    send(&mut near, &request(1, "Echo")).await;
    assert_eq!(answer(&mut near).await, (1, Code::Ok));
}

#[tokio::test]
async fn calls_at_a_time_are_bounded_by_number_and_bytes() {
    let (mut near, service, _server) = served();
    let mut large = request(1, "Never");
    // Field 3, the payload.
    let payload_bytes = (4 << 20) - 1024;
    large.message.push(0x1a);
    prost::encode_length_delimiter(payload_bytes, &mut large.message).expect("a vector grows");
    large.message.resize(large.message.len() + payload_bytes, 0);
    for number in 0..4_u32 {
        large.stream = 1 + 2 * number;
        send(&mut near, &large).await;
    }
    large.stream = 9;
    send(&mut near, &large).await;
    assert_eq!(answer(&mut near).await, (9, Code::ResourceExhausted));
    drop(near);
    while service.open.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }

    let (mut near, service, _server) = served();
    let calls = u32::try_from(CALLS_MAX).expect("it fits");
    for number in 0..calls {
        send(&mut near, &request(1 + 2 * number, "Never")).await;
    }
    let stream = 1 + 2 * calls;
    send(&mut near, &request(stream, "Never")).await;
    assert_eq!(answer(&mut near).await, (stream, Code::ResourceExhausted));
    assert_eq!(service.open.load(Ordering::SeqCst), CALLS_MAX);
}

#[tokio::test]
async fn an_end_within_a_frame_is_an_error() {
    for length in [1, 5, 12] {
        let (mut near, _, server) = served();
        let bytes = request(1, "Echo").to_bytes().expect("it is short");
        near.write_all(&bytes[..length]).await.expect("it is open");
        drop(near);
        let ended = server.await.expect("it ends");
        assert!(
            matches!(ended, Err(ServeError::Read(_))),
            "{length}: {ended:?}"
        );
    }
}

// The clock goes forward only when nothing else can.
#[tokio::test(start_paused = true)]
async fn a_client_that_reads_no_answers_is_not_read_either() {
    let (mut near, _, _server) = served();
    let flood = async {
        // Each is refused at once, with an answer without a reader.
        for _ in 0..100_000 {
            send(&mut near, &request(2, "Echo")).await;
        }
    };
    let flooded = tokio::time::timeout(std::time::Duration::from_secs(2), flood).await;
    assert!(
        flooded.is_err(),
        "the server took all requests without a reader of its answers"
    );
}
