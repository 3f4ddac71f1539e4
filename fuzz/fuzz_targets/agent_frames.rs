//! A hostile guest: whatever it sends, the host's side of a session ends in bounded memory.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use msb_agent_protocol::{Event, Exec, ExecSession, FrameReader, Input, Session, hello, shutdown};
use tokio::io::AsyncWriteExt as _;

/// Events of one command that are looked at.
const EVENTS: usize = 1000;
/// What a guest that behaves begins with, so that what follows it is reached.
const GREETING: &[u8; 16] = b"msb guest \r\n\0\0\0\x01";
/// Ways to put the bytes in.
const WAYS: u8 = 4;

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        match choice % WAYS {
            0 => frames(bytes).await,
            1 => client(bytes).await,
            greeted => session(bytes, greeted == 2).await,
        }
    });
});

/// Frames as a stream brings them.
async fn frames(bytes: &[u8]) {
    let mut events = FrameReader::new(bytes);
    for _ in 0..EVENTS {
        if !matches!(events.next::<Event>().await, Ok(Some(_))) {
            break;
        }
    }
    let mut inputs = FrameReader::new(bytes);
    while let Ok(Some(_)) = inputs.next::<Input>().await {}
}

/// Answers to the host's requests.
async fn client(bytes: &[u8]) {
    let _ = hello(answering(bytes)).await;
    let _ = shutdown(answering(bytes)).await;
    let Ok(exec) = ExecSession::start(answering(bytes), Exec::default()).await else {
        return;
    };
    let (_, mut events) = exec.split();
    for _ in 0..EVENTS {
        if !matches!(events.next().await, Ok(Some(_))) {
            break;
        }
    }
}

/// A stream that brings `bytes` and swallows what is written.
fn answering(bytes: &[u8]) -> tokio::io::DuplexStream {
    let (host, mut guest) = tokio::io::duplex(1 << 16);
    let bytes = bytes.to_vec();
    tokio::spawn(async move {
        let _ = guest.write_all(&bytes).await;
        let _ = guest.shutdown().await;
        let _ = tokio::io::copy(&mut guest, &mut tokio::io::sink()).await;
    });
    host
}

/// A whole port, from the greeting on.
async fn session(bytes: &[u8], is_greeted: bool) {
    let (host, guest) = tokio::io::duplex(1 << 16);
    let (mut from_host, mut to_host) = tokio::io::split(guest);
    let bytes = if is_greeted {
        [&GREETING[..], bytes].concat()
    } else {
        bytes.to_vec()
    };
    tokio::spawn(async move { tokio::io::copy(&mut from_host, &mut tokio::io::sink()).await });
    tokio::spawn(async move {
        let _ = to_host.write_all(&bytes).await;
        let _ = to_host.shutdown().await;
    });
    let talk = async {
        let session = Session::connect(host).await.ok()?;
        let stream = session.open_stream().await.ok()?;
        hello(stream).await.ok()
    };
    // Time is virtual: it passes when nothing else can happen.
    let _ = tokio::time::timeout(Duration::from_secs(60), talk).await;
}
