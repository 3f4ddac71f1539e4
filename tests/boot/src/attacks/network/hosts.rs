//! The host's side of the attacks: servers on the loopback interface.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Result, bail};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with};

use super::guest::GATEWAY;

/// Number of bytes that [`Source`] sends to each client: more than a connection's buffer.
const SOURCE_BYTES: usize = 96 * 1024;

/// A port at which connections stay pending: its queue is full, and nothing accepts from it.
pub(super) struct Silent {
    listener: TcpListener,
    _pending: Vec<OwnedFd>,
}

impl Silent {
    pub(super) fn listen() -> Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        listen(&socket, 0)?;
        let listener = TcpListener::from(socket);
        let at = listener.local_addr()?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let mut pending = Vec::new();
        for _ in 0..4 {
            let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
            // The attempt continues in the kernel, as far as it can.
            let _ = connect(&socket, &at);
            pending.push(socket);
        }
        Ok(Self {
            listener,
            _pending: pending,
        })
    }

    pub(super) fn at(&self) -> Result<SocketAddrV4> {
        as_seen_by_guest(&self.listener)
    }
}

/// A server that sends data to every client and reads nothing. It closes its connections when it is
/// dropped.
pub(crate) struct Source {
    at: SocketAddrV4,
    own: SocketAddr,
    is_over: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl Source {
    pub(super) fn serve() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (at, own) = (as_seen_by_guest(&listener)?, listener.local_addr()?);
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let serving = thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming().flatten() {
                if until.load(Ordering::Acquire) {
                    break;
                }
                let mut stream: TcpStream = stream;
                // The write sends as much as there is room for.
                let _ = stream.set_nonblocking(true);
                let _ = stream.write(&[7; SOURCE_BYTES]);
                held.push(stream);
            }
        });
        Ok(Self {
            at,
            own,
            is_over,
            serving: Some(serving),
        })
    }

    pub(super) const fn at(&self) -> SocketAddrV4 {
        self.at
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // A last client wakes the server.
        let woken = TcpStream::connect(self.own);
        if let (Ok(_), Some(serving)) = (woken, self.serving.take()) {
            let _ = serving.join();
        }
    }
}

/// Opens a port that receives datagrams and answers none.
pub(super) fn silent_datagrams() -> Result<UdpSocket> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?)
}

fn as_seen_by_guest(listener: &TcpListener) -> Result<SocketAddrV4> {
    Ok(SocketAddrV4::new(GATEWAY, listener.local_addr()?.port()))
}

/// Connects to a port of the host from the address `from`.
pub(super) fn connect_from(from: Ipv4Addr, to: SocketAddrV4) -> Result<TcpStream> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddrV4::new(from, 0))?;
    match connect(&socket, &to) {
        Ok(()) => Ok(TcpStream::from(socket)),
        Err(error) => bail!("{from} cannot connect to {to}: {error}"),
    }
}
