use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::failure::ProxyFailure;
use crate::tcp::prepare;

/// The time after which the next address is tried beside those that are silent (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// The number of attempts beside another one of the same connection, of all connections together. Each has a descriptor.
pub(crate) const ATTEMPTS_BESIDE_MAX: usize = 64;

/// The addresses of a proxy.
#[derive(Debug)]
pub(super) struct Addresses {
    all: Vec<SocketAddr>,
    /// The index of the address that was connected to last, which is tried first.
    last: AtomicUsize,
    beside: Arc<Semaphore>,
}

/// An attempt to connect: the index of its address, and the outcome.
type Attempt = (usize, io::Result<TcpStream>);

impl Addresses {
    pub(super) fn new(all: Vec<SocketAddr>) -> Self {
        Self {
            all,
            last: AtomicUsize::new(0),
            beside: Arc::new(Semaphore::new(ATTEMPTS_BESIDE_MAX)),
        }
    }

    /// Connects to one of the addresses: the first one that answers, of which one more is tried at each failure and after
    /// each [`ATTEMPT_DELAY`]. Its caller bounds the time of all of them.
    pub(super) async fn connect(&self) -> Result<TcpStream, ProxyFailure> {
        let mut attempts = JoinSet::new();
        let mut left = self.in_order();
        self.begin(&mut attempts, &mut left);
        loop {
            tokio::select! {
                ended = attempts.join_next() => match ended {
                    Some(Ok((index, Ok(stream)))) if prepare(&stream).is_ok() => {
                        self.last.store(index, Ordering::Relaxed);
                        return Ok(stream);
                    }
                    Some(_) => self.begin(&mut attempts, &mut left),
                    None => return Err(ProxyFailure::Unreachable),
                },
                () = sleep(ATTEMPT_DELAY), if !left.is_empty() => {
                    self.begin(&mut attempts, &mut left);
                }
            }
        }
    }

    /// Returns the indices of the addresses, of which the one that was connected to last is the first.
    fn in_order(&self) -> VecDeque<usize> {
        let last = self.last.load(Ordering::Relaxed);
        let others = (0..self.all.len()).filter(|index| *index != last);
        std::iter::once(last).chain(others).collect()
    }

    /// Begins the next attempt. One beside another waits if there are too many.
    fn begin(&self, attempts: &mut JoinSet<Attempt>, left: &mut VecDeque<usize>) {
        let place = Arc::clone(&self.beside).try_acquire_owned().ok();
        if place.is_none() && !attempts.is_empty() {
            return;
        }
        // The only attempt of a connection has the descriptor of its flow.
        let place = place.filter(|_| !attempts.is_empty());
        let Some(index) = left.pop_front() else {
            return;
        };
        let Some(address) = self.all.get(index).copied() else {
            return;
        };
        attempts.spawn(async move {
            let connected = TcpStream::connect(address).await;
            drop(place);
            (index, connected)
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    /// Returns the address of a socket that takes no more connections, and does not refuse them.
    async fn silent() -> (SocketAddr, Vec<Box<dyn Send>>) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        // Its queue has room for one.
        let first = TcpStream::connect(address).await.unwrap();
        (address, vec![Box::new(first), Box::new(listener)])
    }

    #[tokio::test]
    async fn an_address_that_is_silent_does_not_keep_from_the_next_one() {
        let (silent, _held) = silent().await;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let unused = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let closed = unused.local_addr().unwrap();
        drop(unused);
        let live = listener.local_addr().unwrap();
        let addresses = Addresses::new(vec![silent, closed, live]);
        let stream = addresses.connect().await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), live);
        // The next connection begins with it.
        assert_eq!(addresses.in_order(), [2, 0, 1]);
        assert_eq!(addresses.beside.available_permits(), ATTEMPTS_BESIDE_MAX);
    }

    #[tokio::test]
    async fn attempts_at_once_are_bounded_and_addresses_that_are_closed_end() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let closed = listener.local_addr().unwrap();
        drop(listener);
        let addresses = Addresses::new(vec![closed; 8]);
        let all = addresses.beside.acquire_many(64).await.unwrap();
        let failure = addresses.connect().await.unwrap_err();
        assert_eq!(failure, ProxyFailure::Unreachable);
        drop(all);
        let (silent, _held) = silent().await;
        let addresses = Addresses::new(vec![silent; 3]);
        let _all = addresses.beside.acquire_many(64).await.unwrap();
        let (mut attempts, mut left) = (JoinSet::new(), addresses.in_order());
        for _ in 0..3 {
            addresses.begin(&mut attempts, &mut left);
        }
        assert_eq!((attempts.len(), left.len()), (1, 2));
    }
}
