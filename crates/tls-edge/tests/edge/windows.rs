//! The bytes that wait in HTTP/2 while a side does not read, seen from a host that sends as much as it may.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;

use crate::frames::{
    AUTHORITY, HEADERS, METHOD, PATH, PREFACE, SCHEME, SETTINGS, WHOLE, frame, head,
};
use crate::lab::{HOST, Lab, within};
use crate::upstream::{HostAuthority, Upstream};

const DATA: u8 = 0;
const RST_STREAM: u8 = 3;
const WINDOW_UPDATE: u8 = 8;
const ACKNOWLEDGED: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200`, from the static table of HPACK.
const OK: u8 = 0x88;
const INITIAL_WINDOW_SIZE: u16 = 4;
const FRAME_BYTES: u32 = 16 << 10;

const STREAMS: u32 = 32;
/// The time after which a host that may send nothing is taken for one that has to wait.
const SILENCE: Duration = Duration::from_millis(500);

/// A frame of the edge.
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

async fn read(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<Frame> {
    let mut begin = [0; 9];
    reader.read_exact(&mut begin).await?;
    let [high, middle, low, kind, flags, number @ ..] = begin;
    let length = u32::from_be_bytes([0, high, middle, low]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    reader.read_exact(&mut payload).await?;
    Ok(Frame {
        kind,
        flags,
        stream: u32::from_be_bytes(number),
        payload,
    })
}

/// The windows of a host's connection: the numbers of bytes that it may still send.
#[derive(Debug, Clone)]
struct Windows {
    initial: u32,
    connection: u32,
    streams: BTreeMap<u32, u32>,
    /// The number of bytes that were sent.
    sent: u64,
    /// The codes of the streams that the edge has reset.
    resets: Vec<u32>,
}

impl Windows {
    fn take(&mut self, frame: Frame) {
        match frame.kind {
            SETTINGS if frame.flags & ACKNOWLEDGED == 0 => {
                for setting in frame.payload.chunks(6) {
                    let [high, low, value @ ..] = <[u8; 6]>::try_from(setting).unwrap();
                    if u16::from_be_bytes([high, low]) == INITIAL_WINDOW_SIZE {
                        self.initial = u32::from_be_bytes(value);
                    }
                }
            }
            HEADERS => {
                self.streams.insert(frame.stream, self.initial);
            }
            RST_STREAM => {
                self.streams.insert(frame.stream, 0);
                let code = frame.payload.try_into().unwrap();
                self.resets.push(u32::from_be_bytes(code));
            }
            WINDOW_UPDATE => {
                let more = u32::from_be_bytes(frame.payload.try_into().unwrap());
                if frame.stream == 0 {
                    self.connection += more;
                } else if let Some(window) = self.streams.get_mut(&frame.stream) {
                    *window += more;
                }
            }
            _ => {}
        }
    }

    /// Returns the streams that a frame may be sent on, of each one after the other, and counts it.
    fn next(&mut self) -> Vec<u32> {
        let mut next = Vec::new();
        for (stream, window) in &mut self.streams {
            if *window >= FRAME_BYTES && self.connection >= FRAME_BYTES {
                *window -= FRAME_BYTES;
                self.connection -= FRAME_BYTES;
                self.sent += u64::from(FRAME_BYTES);
                next.push(*stream);
            }
        }
        next
    }
}

/// Returns a host that answers each request with data without end. It reports its windows whenever it may send nothing
/// and hears nothing.
async fn endless_host(authority: &HostAuthority) -> (Upstream, mpsc::UnboundedReceiver<Windows>) {
    let config = authority.config(&[HOST], &["h2"]);
    let (reports, received) = mpsc::unbounded_channel();
    let upstream = Upstream::raw(config, move |stream| {
        let reports = reports.clone();
        async move {
            // The connection breaks off when the test ends.
            let _ = flood(stream, reports).await;
        }
    })
    .await;
    (upstream, received)
}

async fn flood(
    stream: TlsStream<TcpStream>,
    reports: mpsc::UnboundedSender<Windows>,
) -> io::Result<()> {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut preface = [0; PREFACE.len()];
    reader.read_exact(&mut preface).await?;
    assert_eq!(preface, PREFACE);
    let (sender, mut frames) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok(frame) = read(&mut reader).await {
            if sender.send(frame).is_err() {
                return;
            }
        }
    });
    writer.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
    writer.flush().await?;
    let mut windows = Windows {
        initial: 65_535,
        connection: 65_535,
        streams: BTreeMap::new(),
        sent: 0,
        resets: Vec::new(),
    };
    let bytes = vec![b'x'; usize::try_from(FRAME_BYTES).unwrap()];
    loop {
        match timeout(SILENCE, frames.recv()).await {
            Ok(None) => return Ok(()),
            Ok(Some(taken)) => {
                if taken.kind == HEADERS {
                    let head = frame(HEADERS, END_HEADERS, taken.stream, &[OK]);
                    writer.write_all(&head).await?;
                }
                // The windows of the settings count once they are acknowledged.
                if taken.kind == SETTINGS && taken.flags & ACKNOWLEDGED == 0 {
                    writer
                        .write_all(&frame(SETTINGS, ACKNOWLEDGED, 0, &[]))
                        .await?;
                }
                windows.take(taken);
            }
            Err(_) => {
                // The test may have seen enough.
                let _ = reports.send(windows.clone());
            }
        }
        loop {
            let next = windows.next();
            if next.is_empty() {
                break;
            }
            for stream in next {
                writer.write_all(&frame(DATA, 0, stream, &bytes)).await?;
            }
        }
        writer.flush().await?;
    }
}

fn request(stream: u32) -> Vec<u8> {
    let fields = head(&[METHOD, SCHEME, AUTHORITY, PATH]);
    frame(HEADERS, WHOLE, stream, &fields)
}

#[tokio::test]
async fn a_host_may_send_enough_ahead_for_a_long_way() {
    let authority = HostAuthority::new();
    let (upstream, mut reports) = endless_host(&authority).await;
    let lab = Lab::with(upstream, &authority, &format!("K@{HOST}"), &[]);
    let tls = lab.tls(&["h2"]).await.unwrap();
    let windows = within(reports.recv()).await.unwrap();
    // Two thirds of it arrive in a round trip: 8 MB/s at 80 ms.
    assert!(windows.initial / 3 * 2 >= 640_000, "{windows:?}");
    // Three streams that the guest does not read leave a fourth one all of its window.
    assert!(windows.connection >= 4 * windows.initial, "{windows:?}");
    drop(tls);
}

#[tokio::test]
async fn a_guest_that_does_not_read_has_bounded_bytes_wait() {
    let authority = HostAuthority::new();
    let (upstream, mut reports) = endless_host(&authority).await;
    let lab = Lab::with(upstream, &authority, &format!("K@{HOST}"), &[]);
    let mut tls = lab.tls(&["h2"]).await.unwrap();
    let largest: u32 = (1 << 31) - 1;
    let setting = [
        &INITIAL_WINDOW_SIZE.to_be_bytes()[..],
        &largest.to_be_bytes(),
    ]
    .concat();
    let mut sent = [
        PREFACE,
        &frame(SETTINGS, 0, 0, &setting),
        &frame(WINDOW_UPDATE, 0, 0, &(largest - 65_535).to_be_bytes()),
    ]
    .concat();
    for index in 0..STREAMS {
        sent.extend(request(2 * index + 1));
    }
    within(async {
        tls.stream.write_all(&sent).await.unwrap();
        tls.stream.flush().await.unwrap();
    })
    .await;
    let windows = loop {
        let windows = within(reports.recv()).await.unwrap();
        if windows.streams.len() == usize::try_from(STREAMS).unwrap() {
            break windows;
        }
    };
    assert_eq!(windows.resets, [0; 0]);
    // The window of the connection, a piece and what is on its way for each stream, and the buffers of the connection.
    let max = (4 << 20) + u64::from(STREAMS) * (8 + 2 * 16) * 1024 + (512 << 10);
    assert!(windows.sent <= max, "{} of {max} bytes", windows.sent);
    assert!(windows.sent >= 1 << 20, "{} bytes", windows.sent);
    drop(tls);
}
