use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Largest part that is sent at a time, in bytes.
const PART_BYTES: usize = 32 << 10;
/// A connection's first window, in bytes: 10 packets (RFC 6928).
const FIRST_WINDOW_BYTES: usize = 10 * 1460;
/// Largest window, in bytes. It is never the limit.
const WINDOW_MAX_BYTES: usize = 64 << 20;
/// The round trips before the first request of a connection: one of TCP and one of TLS.
const ROUND_TRIPS_TO_CONNECT: u32 = 2;

/// A network to simulate.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) name: &'static str,
    round_trip: Duration,
    /// Bandwidth of all connections together, in bytes per second.
    bytes_per_s: f64,
    /// Bandwidth of one connection, as storages and content networks limit it.
    connection_bytes_per_s: f64,
    /// The largest ratio of the time of a pull in ranges to that in one stream.
    pub(super) ratio_max: f64,
}

/// The networks that are measured.
pub(super) static NETWORKS: [Network; 2] = [
    Network {
        name: "100 ms, 1 Gbit/s",
        round_trip: Duration::from_millis(100),
        bytes_per_s: 125e6,
        connection_bytes_per_s: 40e6,
        ratio_max: 0.75,
    },
    // Nothing can be won where the bandwidth is the limit; the rest is noise.
    Network {
        name: "100 ms, 100 Mbit/s",
        round_trip: Duration::from_millis(100),
        bytes_per_s: 12.5e6,
        connection_bytes_per_s: 40e6,
        ratio_max: 1.05,
    },
];

/// The bandwidth that connections share.
#[derive(Debug)]
pub(super) struct Link {
    network: &'static Network,
    /// The time at which all that was sent so far has passed.
    free_at: Mutex<Instant>,
}

/// The sending end of a connection.
#[derive(Debug)]
pub(super) struct Paced<'a, W> {
    to: W,
    link: &'a Link,
    is_new: bool,
    window_bytes: usize,
    /// Bytes that may be sent before the window's round trip has passed.
    left_bytes: usize,
    window_began: Instant,
    /// The time at which the connection may send again.
    free_at: Instant,
}

impl Link {
    pub(super) fn new(network: &'static Network) -> Self {
        Self {
            network,
            free_at: Mutex::new(Instant::now()),
        }
    }

    /// Returns the time at which this many bytes have passed.
    fn pass(&self, bytes: usize) -> Instant {
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let begins_at = (*free_at).max(Instant::now());
        *free_at = begins_at + duration(bytes, self.network.bytes_per_s);
        *free_at
    }
}

impl<'a, W: Write> Paced<'a, W> {
    pub(super) fn new(to: W, link: &'a Link) -> Self {
        let now = Instant::now();
        Self {
            to,
            link,
            is_new: true,
            window_bytes: FIRST_WINDOW_BYTES,
            left_bytes: FIRST_WINDOW_BYTES,
            window_began: now,
            free_at: now,
        }
    }

    /// Waits for the request and the start of its answer to cross the network.
    pub(super) fn wait_for_answer(&mut self) {
        let connecting = if self.is_new {
            ROUND_TRIPS_TO_CONNECT
        } else {
            0
        };
        self.is_new = false;
        thread::sleep(self.link.network.round_trip * (1 + connecting));
        self.window_began = Instant::now();
        self.left_bytes = self.window_bytes;
    }

    /// Returns the number of bytes that the window allows, after waiting for a round trip if it is
    /// used up.
    fn wait_for_window(&mut self) -> usize {
        let ends_at = self.window_began + self.link.network.round_trip;
        if self.left_bytes == 0 {
            sleep_until(ends_at);
        }
        if Instant::now() >= ends_at {
            self.window_bytes = (self.window_bytes * 2).min(WINDOW_MAX_BYTES);
            self.left_bytes = self.window_bytes;
            self.window_began = Instant::now();
        }
        self.left_bytes
    }

    /// Sends bytes as fast as the network lets them pass.
    pub(super) fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = bytes.len().min(PART_BYTES).min(self.wait_for_window());
            let (part, rest) = bytes.split_at(count);
            let passed_at = self.link.pass(count);
            let own = duration(count, self.link.network.connection_bytes_per_s);
            self.free_at = self.free_at.max(Instant::now()) + own;
            sleep_until(passed_at.max(self.free_at));
            self.to.write_all(part)?;
            self.left_bytes -= count;
            bytes = rest;
        }
        Ok(())
    }
}

fn duration(bytes: usize, bytes_per_s: f64) -> Duration {
    Duration::from_secs_f64(bytes as f64 / bytes_per_s)
}

fn sleep_until(time: Instant) {
    thread::sleep(time.saturating_duration_since(Instant::now()));
}
