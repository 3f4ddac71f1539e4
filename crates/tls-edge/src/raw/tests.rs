use std::future::poll_fn;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// A record of two bytes, and the begin of another one.
const BYTES: &[u8] = b"\x17\x03\x03\x00\x02ab\x17\x03\x03\x00";

#[tokio::test]
async fn a_read_ends_with_its_header_or_its_record() {
    let (mut peer, stream) = tokio::io::duplex(64);
    let mut raw = Raw::after(stream, b"\x16\x03\x03\x00\x01");
    peer.write_all(b"x").await.unwrap();
    peer.write_all(BYTES).await.unwrap();
    let mut lengths = Vec::new();
    for _ in 0..4 {
        lengths.push(raw.read(&mut [0; 64]).await.unwrap());
    }
    assert_eq!(lengths, [1, 5, 2, 4]);
    assert_eq!(*raw.unread(), 12);
}

#[tokio::test]
async fn what_arrives_is_read_once_the_stream_no_longer_rests() {
    let (mut peer, stream) = tokio::io::duplex(64);
    let mut raw = Raw::after(stream, &[]);
    peer.write_all(BYTES).await.unwrap();
    for _ in 0..2 {
        poll_fn(|context| raw.poll_arrival(context)).await;
    }
    assert_eq!(*raw.unread(), 0);
    let mut read = vec![0; BYTES.len()];
    raw.read_exact(&mut read).await.unwrap();
    assert_eq!(read, BYTES);
    drop(peer);
    poll_fn(|context| raw.poll_arrival(context)).await;
    assert_eq!(raw.read(&mut read).await.unwrap(), 0);
}
