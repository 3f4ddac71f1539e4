//! A hostile guest: whatever it sends, the host's side of a connection ends in bounded memory.

use std::io;
use std::time::Duration;

use msb_agent_protocol::v1::Exec;
use msb_agent_protocol::{Bytes, Client, Output};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

/// Number of events of one command that are read.
const EVENTS: usize = 1000;
/// Greeting of a correct guest, which the bytes of the fuzzer follow.
const GREETING: &[u8] = b"msb guest \r\n\0\0\0\x02";
/// An empty SETTINGS frame, with which an HTTP/2 server begins.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Lengths of the host's greeting, the HTTP/2 preface and a frame's header, in bytes.
const HOST_GREETING_BYTES: usize = 16;
const PREFACE_BYTES: usize = 24;
const FRAME_HEADER_BYTES: usize = 9;
/// Types of the frames for the head of a request and for data (RFC 9113, section 6).
const HEADERS: u8 = 1;
const DATA: u8 = 0;

/// Steps that the guest takes correctly before it sends the fuzzer's bytes.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Manners {
    None,
    Greets,
    SpeaksHttp2,
    Answers,
}

/// Plays a guest that sends `bytes`.
pub fn run(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let manners = match choice & 3 {
        0 => Manners::None,
        1 => Manners::Greets,
        2 => Manners::SpeaksHttp2,
        _ => Manners::Answers,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let (host, guest) = tokio::io::duplex(1 << 16);
        let bytes = bytes.to_vec();
        tokio::spawn(async move { play(guest, manners, &bytes).await });
        // Time is virtual: it passes when nothing else can happen.
        let talk = talk(host, choice & 4 != 0);
        let _ = tokio::time::timeout(Duration::from_secs(60), talk).await;
    });
}

/// Plays the host, which runs a command if `runs` is true, and otherwise calls `hello`.
async fn talk(port: DuplexStream, runs: bool) -> Option<()> {
    let mut client = Client::connect_port(port).await.ok()?;
    if !runs {
        return client.hello().await.ok().map(drop);
    }
    let exec = Exec {
        argv: vec![Bytes::from_static(b"cat")],
        ..Exec::default()
    };
    let mut command = client.exec(exec).await.ok()?;
    command.inputs.send(Bytes::from_static(b"input")).await;
    for _ in 0..EVENTS {
        match command.outputs.next().await {
            Ok(Some(Output::Stdout(_) | Output::Stderr(_))) => {}
            _ => break,
        }
    }
    command.control.signal(15).await.ok()
}

/// Plays the guest.
async fn play(mut guest: DuplexStream, manners: Manners, bytes: &[u8]) -> io::Result<()> {
    if manners >= Manners::Greets {
        guest.write_all(GREETING).await?;
        skip(&mut guest, HOST_GREETING_BYTES).await?;
    }
    if manners >= Manners::SpeaksHttp2 {
        guest.write_all(SETTINGS).await?;
        skip(&mut guest, PREFACE_BYTES).await?;
    }
    if manners == Manners::Answers {
        let stream = request(&mut guest).await?;
        // This is `:status 200` and `content-type: application/grpc` in HPACK.
        let head = b"\x88\x5f\x10application/grpc";
        frame(&mut guest, HEADERS, 4, stream, head).await?;
        frame(&mut guest, DATA, 0, stream, bytes).await?;
    } else {
        guest.write_all(bytes).await?;
    }
    guest.shutdown().await?;
    tokio::io::copy(&mut guest, &mut tokio::io::sink()).await?;
    Ok(())
}

async fn skip(guest: &mut DuplexStream, length: usize) -> io::Result<()> {
    let mut bytes = vec![0; length];
    guest.read_exact(&mut bytes).await.map(drop)
}

/// Reads frames up to the head of a request. Returns the stream of that request.
async fn request(guest: &mut DuplexStream) -> io::Result<u32> {
    loop {
        let mut header = [0; FRAME_HEADER_BYTES];
        guest.read_exact(&mut header).await?;
        let [a, b, c, kind, _, rest @ ..] = header;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        skip(guest, length).await?;
        if kind == HEADERS {
            return Ok(u32::from_be_bytes(rest));
        }
    }
}

async fn frame(
    guest: &mut DuplexStream,
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &[u8],
) -> io::Result<()> {
    // Frames are at most 16 KiB long, which is enough of a longer input.
    let payload = &payload[..payload.len().min(16 << 10)];
    let length = u32::try_from(payload.len()).unwrap_or(0).to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    guest.write_all(&bytes).await
}
