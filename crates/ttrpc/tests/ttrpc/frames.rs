//! The bytes of frames.

use proptest::prelude::*;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use ttrpc::{Frame, FrameHeader, FrameKind, HEADER_BYTES, Metadata, Received, Request, Response};

use crate::service::{SERVICE, served};

#[test]
fn a_request_has_the_bytes_of_the_protocol() {
    let request = Request {
        service: "s".into(),
        method: "m".into(),
        payload: vec![1, 2],
        timeout_nano: 5,
        ..Request::default()
    };
    let frame = Frame {
        stream: 7,
        kind: FrameKind::Request,
        flags: 0,
        message: request.encode_to_vec(),
    };
    let bytes = b"\0\0\0\x0c\0\0\0\x07\x01\0\x0a\x01s\x12\x01m\x1a\x02\x01\x02\x20\x05";
    assert_eq!(frame.to_bytes().expect("it is short"), bytes);
}

#[tokio::test]
async fn an_answer_has_the_bytes_of_the_protocol() {
    let (mut near, _, _server) = served();
    let name = SERVICE.as_bytes();
    let fields = [b"\x0a\x0d", name, b"\x12\x07Missing"].concat();
    let header = [0, 0, 0, 24, 0, 0, 0, 1, 1, 0];
    near.write_all(&[&header[..], &fields].concat())
        .await
        .expect("it is open");
    // Code 5 and its text in field 1, no payload.
    let mut answer = vec![0, 0, 0, 16, 0, 0, 0, 1, 2, 0];
    answer.extend(b"\x0a\x0e\x08\x05\x12\x0ait is gone");
    let mut found = vec![0; answer.len()];
    near.read_exact(&mut found).await.expect("it is open");
    assert_eq!(found, answer);
}

#[test]
fn a_success_is_an_answer_without_a_status_or_with_code_0() {
    let with_zero = b"\x0a\x02\x08\x00\x12\x01x";
    let response = Response::decode(&with_zero[..]).expect("it is an answer");
    assert_eq!(response.payload, b"x");
    assert_eq!(response.status.expect("it has one").code, 0);
}

#[test]
fn metadata_keeps_its_order_and_gives_the_first_value() {
    let mut metadata = Metadata::default();
    metadata.insert("a", "1");
    metadata.insert("a", "2");
    assert_eq!(metadata.get("a"), Some("1"));
    assert_eq!(metadata.get("b"), None);
    assert_eq!(
        metadata.iter().collect::<Vec<_>>(),
        [("a", "1"), ("a", "2")]
    );
}

proptest! {
    #[test]
    fn headers_and_frames_survive_a_round_trip(
        bytes: [u8; HEADER_BYTES],
        stream: u32,
        flags: u8,
        message in prop::collection::vec(any::<u8>(), 0..500),
    ) {
        prop_assert_eq!(FrameHeader::parse(bytes).to_bytes(), bytes);
        let frame = Frame { stream, kind: FrameKind::Data, flags, message };
        let bytes = frame.to_bytes().expect("it is short");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it starts");
        let received = runtime.block_on(ttrpc::receive(&mut &bytes[..]));
        prop_assert_eq!(received.expect("it is whole"), Received::Frame(frame));
    }

    #[test]
    fn no_bytes_stop_the_reader_from_ending(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it starts");
        let mut from = &bytes[..];
        runtime.block_on(async {
            while let Ok(Received::Frame(_) | Received::TooLong(_)) = ttrpc::receive(&mut from).await {}
        });
    }
}
