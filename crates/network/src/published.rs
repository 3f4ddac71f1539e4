//! Ports of the host that lead into the guest.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc;

use crate::budget::Budget;
use crate::limits::{ARRIVALS_MAX, FLOW_QUEUES_BYTES};
use crate::queue::{self, queue};
use crate::replies::DATAGRAM_MAX_BYTES;
use crate::udp::HostEnd;
use crate::{Protocol, Publish};

/// How long a listener waits after an error, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// A port of the host cannot be published.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {}/{} to publish it", publish.host, publish.protocol)]
pub struct PublishError {
    /// Which one.
    pub publish: Publish,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Somebody outside who wants to talk to the guest.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) peer: IpAddr,
    pub(crate) guest_port: u16,
    pub(crate) host: ArrivedBy,
}

/// The host's end of what begins outside.
#[derive(Debug)]
pub(crate) enum ArrivedBy {
    Stream(TcpStream),
    Datagrams(HostEnd),
}

/// A published port that is listened on.
#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Udp(Arc<UdpSocket>),
}

/// Whether all of `published` can be listened on now.
///
/// # Errors
/// The first that cannot, most likely because another program listens there.
pub fn check_published(published: &[Publish]) -> Result<(), PublishError> {
    // All at once: two that are the same are not both free.
    let mut held = Vec::new();
    for &publish in published {
        let port: io::Result<OwnedFd> = match publish.protocol {
            Protocol::Tcp => std::net::TcpListener::bind(publish.host).map(Into::into),
            Protocol::Udp => std::net::UdpSocket::bind(publish.host).map(Into::into),
        };
        held.push(port.map_err(|source| PublishError { publish, source })?);
    }
    Ok(())
}

/// Listens on all of `published`; who comes is sent to `arrivals`.
pub(crate) async fn listen(
    published: &[Publish],
    arrivals: &mpsc::Sender<Arrival>,
) -> Result<(), PublishError> {
    let mut listeners = Vec::new();
    for &publish in published {
        let bound = match publish.protocol {
            Protocol::Tcp => TcpListener::bind(publish.host).await.map(Listener::Tcp),
            Protocol::Udp => UdpSocket::bind(publish.host)
                .await
                .map(|socket| Listener::Udp(Arc::new(socket))),
        };
        let listener = bound.map_err(|source| PublishError { publish, source })?;
        listeners.push((listener, publish.guest_port));
    }
    let queued = Budget::new(FLOW_QUEUES_BYTES);
    for (listener, guest_port) in listeners {
        let arrivals = arrivals.clone();
        match listener {
            Listener::Tcp(listener) => tokio::spawn(accept(listener, guest_port, arrivals)),
            Listener::Udp(socket) => {
                tokio::spawn(sort(socket, guest_port, queued.clone(), arrivals))
            }
        };
    }
    Ok(())
}

async fn accept(listener: TcpListener, guest_port: u16, arrivals: mpsc::Sender<Arrival>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let arrival = Arrival {
                    peer: peer.ip(),
                    guest_port,
                    host: ArrivedBy::Stream(stream),
                };
                if arrivals.send(arrival).await.is_err() {
                    return;
                }
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Sorts datagrams by who sent them: each sender is a flow.
async fn sort(
    socket: Arc<UdpSocket>,
    guest_port: u16,
    queued: Budget,
    arrivals: mpsc::Sender<Arrival>,
) {
    let mut peers: HashMap<SocketAddr, queue::Sender> = HashMap::new();
    let mut buffer = vec![0; DATAGRAM_MAX_BYTES + 1];
    loop {
        let Ok((length, peer)) = socket.recv_from(&mut buffer).await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let datagram = &buffer[..length];
        if let Some(queue) = peers.get(&peer)
            && queue.send(datagram, 0..length).is_ok()
        {
            continue;
        }
        if peers.len() >= ARRIVALS_MAX {
            peers.retain(|_, queue| !queue.is_closed());
        }
        if peers.len() >= ARRIVALS_MAX {
            continue;
        }
        let (queue, datagrams) = queue(&queued);
        datagrams.open();
        // The queue is new, and its end is here.
        let _ = queue.send(datagram, 0..length);
        peers.insert(peer, queue);
        let host = HostEnd::Shared {
            socket: Arc::clone(&socket),
            peer,
            datagrams,
        };
        let arrival = Arrival {
            peer: peer.ip(),
            guest_port,
            host: ArrivedBy::Datagrams(host),
        };
        if arrivals.send(arrival).await.is_err() {
            return;
        }
    }
}
