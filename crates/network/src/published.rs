//! Ports of the host that lead into the guest.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc;

use crate::budget::Budget;
use crate::limits::{ARRIVALS_MAX, FLOW_QUEUES_BYTES};
use crate::queue::{self, queue};
use crate::replies::DATAGRAM_MAX_BYTES;
use crate::udp::HostEnd;
use crate::{Protocol, Publish};

/// The time that a listener waits after an error, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The error of a host port that cannot be published.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {}/{} to publish it", publish.host, publish.protocol)]
pub struct PublishError {
    /// The port.
    pub publish: Publish,
    /// The error of the socket.
    #[source]
    pub source: io::Error,
}

impl Diagnose for PublishError {
    fn diagnosis(&self) -> Diagnosis {
        let kind = match self.source.kind() {
            io::ErrorKind::AddrInUse => ErrorKind::PortInUse,
            io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
            _ => ErrorKind::InvalidArgument,
        };
        Diagnosis::new(kind)
            .detail("host_port", self.publish.host.port())
            .detail("host_address", self.publish.host.ip().to_string())
    }
}

/// A connection or a sender of datagrams from outside, at a published port.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) peer: IpAddr,
    pub(crate) guest_port: u16,
    pub(crate) host: ArrivedBy,
}

/// The host's end of an inbound flow.
#[derive(Debug)]
pub(crate) enum ArrivedBy {
    Stream(TcpStream),
    Datagrams(HostEnd),
}

/// A published port that is listened on.
#[derive(Debug)]
pub(crate) struct Listener {
    /// The published port, with the host port that the host chose if the settings name none.
    pub(crate) publish: Publish,
    socket: ListenerSocket,
}

#[derive(Debug)]
enum ListenerSocket {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

/// Checks that all of `published` can be listened on now.
///
/// # Errors
/// The first port that cannot, usually because another program listens there.
pub fn check_published(published: &[Publish]) -> Result<(), PublishError> {
    // Keep every socket open until the end: two equal ports are not both free.
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

/// Listens on all of `published`.
pub(crate) async fn listen(published: &[Publish]) -> Result<Vec<Listener>, PublishError> {
    let mut listeners = Vec::new();
    for &publish in published {
        let bound = bind(publish).await;
        listeners.push(bound.map_err(|source| PublishError { publish, source })?);
    }
    Ok(listeners)
}

async fn bind(publish: Publish) -> io::Result<Listener> {
    let (socket, address) = match publish.protocol {
        Protocol::Tcp => {
            let listener = TcpListener::bind(publish.host).await?;
            let address = listener.local_addr()?;
            (ListenerSocket::Tcp(listener), address)
        }
        Protocol::Udp => {
            let socket = UdpSocket::bind(publish.host).await?;
            let address = socket.local_addr()?;
            (ListenerSocket::Udp(socket), address)
        }
    };
    let host = SocketAddrV4::new(*publish.host.ip(), address.port());
    let publish = Publish { host, ..publish };
    Ok(Listener { publish, socket })
}

/// Sends every inbound connection and every new sender of datagrams to `arrivals`.
pub(crate) fn take_arrivals(listeners: Vec<Listener>, arrivals: &mpsc::Sender<Arrival>) {
    let queued = Budget::new(FLOW_QUEUES_BYTES);
    for Listener { publish, socket } in listeners {
        let (guest_port, arrivals) = (publish.guest_port, arrivals.clone());
        match socket {
            ListenerSocket::Tcp(listener) => tokio::spawn(accept(listener, guest_port, arrivals)),
            ListenerSocket::Udp(socket) => {
                let socket = Arc::new(socket);
                tokio::spawn(sort(socket, guest_port, queued.clone(), arrivals))
            }
        };
    }
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

/// Sorts datagrams by their sender: each sender is a flow.
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
        // The queue is new, and its receiver still exists.
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
