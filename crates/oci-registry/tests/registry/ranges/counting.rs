//! A server that counts the answers that it is sending at once, and holds some of them back.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Time that each answer takes at least.
const ANSWER_TIME: Duration = Duration::from_millis(20);

/// A server of one blob, until it is dropped. It answers at every path.
pub(super) struct CountingServer {
    pub(super) address: SocketAddr,
    pub(super) counts: Arc<Counts>,
    task: JoinHandle<()>,
}

/// Answers so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    open: AtomicUsize,
    /// Most answers that were sent at the same time.
    pub(super) most_open: AtomicUsize,
    /// Starts of the requested ranges, in order.
    pub(super) starts: Mutex<Vec<usize>>,
}

impl Drop for CountingServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl CountingServer {
    pub(super) async fn start(blob: Bytes) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let counts: Arc<Counts> = Arc::default();
        let counted = Arc::clone(&counts);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (blob, counts) = (blob.clone(), Arc::clone(&counted));
                // A client that disconnects ends only its own connection.
                tokio::spawn(async move { answer(stream, &blob, &counts).await });
            }
        });
        Self {
            address,
            counts,
            task,
        }
    }

    pub(super) fn most_open(&self) -> usize {
        self.counts.most_open.load(Ordering::Relaxed)
    }

    pub(super) fn starts(&self) -> Vec<usize> {
        self.counts.starts.lock().expect("starts").clone()
    }
}

async fn answer(mut stream: TcpStream, blob: &[u8], counts: &Counts) -> Option<()> {
    let range = requested(&mut stream).await?;
    let (start, end) = range.unwrap_or((0, blob.len()));
    let end = end.min(blob.len());
    counts.starts.lock().expect("starts").push(start);
    let open = counts.open.fetch_add(1, Ordering::Relaxed) + 1;
    counts.most_open.fetch_max(open, Ordering::Relaxed);
    let status = match range {
        Some(_) => format!(
            "206 Part\r\nContent-Range: bytes {start}-{}/{}",
            end - 1,
            blob.len()
        ),
        None => "200 OK".to_owned(),
    };
    let length = end - start;
    let head =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    let sent = async {
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&blob[start..end - 1]).await
    };
    let sent = sent.await;
    tokio::time::sleep(ANSWER_TIME).await;
    // The client cannot begin the next request before it has the last byte.
    counts.open.fetch_sub(1, Ordering::Relaxed);
    sent.ok()?;
    stream.write_all(&blob[end - 1..end]).await.ok()?;
    stream.shutdown().await.ok()
}

/// Reads a request. Returns the start and the end of its range, if it has one.
async fn requested(stream: &mut TcpStream) -> Option<Option<(usize, usize)>> {
    let mut reader = BufReader::new(stream);
    let mut range = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            return Some(range);
        }
        if let Some(text) = line.strip_prefix("range: bytes=") {
            let (start, last) = text.split_once('-')?;
            let end = match last {
                "" => usize::MAX,
                last => last.parse::<usize>().ok()? + 1,
            };
            range = Some((start.parse().ok()?, end));
        }
    }
}
