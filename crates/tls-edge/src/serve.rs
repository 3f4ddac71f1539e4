//! One connection of the guest, from its first bytes: ended, passed on unchanged, or refused.

use std::io;
use std::sync::Arc;

use rustls::CommonState;
use rustls::pki_types::ServerName;
use rustls::server::Accepted;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, copy_bidirectional_with_sizes};
use tokio::net::TcpStream;
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream as GuestStream;
use tokio_rustls::{StartHandshake, TlsConnector};

use crate::connection::{self, H2, HTTP1, Host};
use crate::edge::Edge;
use crate::event::{EdgeEvent, Events, logged_host};
use crate::forward::Terms;
use crate::hello::{self, Hello, Opening};
use crate::limits::{CERTIFICATES_MAX_BYTES, COPY_BUFFER_BYTES, HANDSHAKE_TIMEOUT};
use crate::raw::Raw;
use crate::served::{Refused, Served};
use crate::settings::Destination;
use crate::tls::{self, GuestEnd};

/// A guest that begins TLS with a host whose TLS is ended.
struct Guest<S> {
    stream: Raw<S>,
    accepted: Accepted,
    /// The protocols to offer to the host.
    offer: Vec<Vec<u8>>,
    destination: Arc<Destination>,
}

impl Edge {
    /// Serves a connection of the guest until it ends.
    ///
    /// The hello is read first, which takes a bounded time and is of a bounded size. If it names a host whose TLS is
    /// ended at this port, the host is dialled and has to prove this name; the guest then sees a certificate of the
    /// sandbox's authority, and its requests are checked and sent. Any other connection is passed on with the
    /// bytes that were read if it `passes`, or refused. `dial` is given the name of a host whose TLS is ended.
    #[expect(
        clippy::too_many_arguments,
        reason = "a connection, its two facts and its two callbacks have nothing in common"
    )]
    pub async fn serve<S, D, F>(
        &self,
        mut guest: S,
        port: u16,
        dial: D,
        passes: bool,
        events: &dyn Events,
    ) -> Served
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        D: FnOnce(Option<String>) -> F + Send,
        F: Future<Output = io::Result<TcpStream>> + Send,
    {
        let Ok(place) = self.gates.connections.try_acquire() else {
            return Served::Refused(Refused::Busy);
        };
        let (hello, bytes) = match hello::read(&mut guest).await {
            Ok(Opening::Hello(hello)) => self.look_up(*hello, port, events),
            Ok(Opening::Other(bytes)) => (None, bytes),
            Err(error) => return Served::Refused(Refused::Guest(error)),
        };
        let Some((hello, destination)) = hello else {
            drop(place);
            if !passes {
                return Served::Refused(Refused::NotAllowed);
            }
            return match pass(guest, &bytes, dial).await {
                Ok(is_clean) => Served::Passed { is_clean },
                Err(refused) => Served::Refused(refused),
            };
        };
        let stream = Raw::after(guest, &bytes);
        drop(bytes);
        let offer = match offer(&hello.protocols) {
            Ok(offer) => offer,
            Err(refused) => return Served::Refused(refused),
        };
        let guest = Guest {
            stream,
            accepted: hello.accepted,
            offer,
            destination,
        };
        match self.end(guest, dial, events).await {
            Ok(is_clean) => Served::Ended { is_clean },
            Err(refused) => Served::Refused(refused),
        }
    }

    /// Returns the hello with its destination, if it is to be ended, and the bytes that were read.
    fn look_up(
        &self,
        mut hello: Hello,
        port: u16,
        events: &dyn Events,
    ) -> (Option<(Hello, Arc<Destination>)>, Vec<u8>) {
        let bytes = std::mem::take(&mut hello.bytes);
        let Some(name) = &hello.name else {
            return (None, bytes);
        };
        let destination = self.destinations.of(name, port);
        events.event(EdgeEvent::Hello {
            sni: logged_host(name),
            ended: destination.is_some(),
        });
        (destination.map(|destination| (hello, destination)), bytes)
    }

    /// Ends TLS. Returns false if an answer was broken off.
    async fn end<S, D, F>(
        &self,
        guest: Guest<S>,
        dial: D,
        events: &dyn Events,
    ) -> Result<bool, Refused>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        D: FnOnce(Option<String>) -> F,
        F: Future<Output = io::Result<TcpStream>>,
    {
        let Guest {
            stream,
            accepted,
            mut offer,
            destination,
        } = guest;
        let place = self.http2_place(&mut offer)?;
        let sni = || logged_host(&destination.name);
        let host = destination.name.clone();
        let socket = dial(Some(host)).await.map_err(Refused::Dial)?;
        // A semaphore that is never closed gives its permit.
        let slot = self.gates.handshakes.acquire().await.ok();
        let host = self.prove(&destination.name, offer.clone(), socket).await;
        if let Host::Unproved(reason) = &host {
            let reason = reason.clone();
            events.event(EdgeEvent::UpstreamCertificate { sni: sni(), reason });
        }
        let start = StartHandshake::from_parts(accepted, stream);
        let protocols = chosen(&host, offer);
        let _place = place.filter(|_| protocols.iter().any(|protocol| is_http2(protocol)));
        let greeted = self.greet(&destination.name, protocols, start).await;
        let stream = greeted.inspect_err(|error| {
            if let Refused::Handshake(error) = error
                && let GuestEnd::Refused(alert) = tls::guest_end(error)
            {
                events.event(EdgeEvent::TlsRefused { sni: sni(), alert });
            }
        })?;
        drop(slot);
        let terms = Terms {
            values: self.values().clone(),
            destination,
            active: Arc::clone(&self.gates.active),
        };
        connection::run(stream, host, terms, events).await
    }

    /// Takes a place for a connection in HTTP/2, if the guest offers that. If there is none, the host is offered
    /// HTTP/1.1 alone.
    fn http2_place(
        &self,
        offer: &mut Vec<Vec<u8>>,
    ) -> Result<Option<SemaphorePermit<'_>>, Refused> {
        if !offer.iter().any(|protocol| is_http2(protocol)) {
            return Ok(None);
        }
        if let Ok(place) = self.gates.http2.try_acquire() {
            return Ok(Some(place));
        }
        offer.retain(|protocol| !is_http2(protocol));
        if offer.is_empty() {
            return Err(Refused::BusyHttp2);
        }
        Ok(None)
    }

    /// Does the handshake with the host, which has to prove its name.
    async fn prove(&self, name: &str, offer: Vec<Vec<u8>>, socket: TcpStream) -> Host {
        // Small requests and answers would wait for acknowledgements; without it they are slower, not wrong.
        let _ = socket.set_nodelay(true);
        let Ok(name) = ServerName::try_from(name.to_owned()) else {
            return Host::Unproved("its name is not a DNS name".to_owned());
        };
        let connector = TlsConnector::from(Arc::clone(&self.client));
        let connector = connector.with_alpn(offer);
        let socket = Raw::after(socket, &[]);
        let proved = match timeout(HANDSHAKE_TIMEOUT, connector.connect(name, socket)).await {
            Ok(proved) => proved,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        match proved {
            Ok(stream) if has_large_certificates(stream.get_ref().1) => {
                Host::Unproved("its certificates are too large".to_owned())
            }
            Ok(stream) => Host::Proved(Box::new(stream)),
            Err(error) => Host::Unproved(tls::reason_of(&error)),
        }
    }

    /// Does the handshake with the guest, which gets the protocol that the host chose.
    async fn greet<S>(
        &self,
        name: &str,
        protocols: Vec<Vec<u8>>,
        start: StartHandshake<S>,
    ) -> Result<GuestStream<S>, Refused>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let leaf = self.authority.leaf(name)?;
        let config = tls::guest_config(self.client.crypto_provider(), leaf, protocols)?;
        match timeout(HANDSHAKE_TIMEOUT, start.into_stream(config)).await {
            Ok(stream) => stream.map_err(Refused::Handshake),
            Err(_) => Err(Refused::Handshake(io::ErrorKind::TimedOut.into())),
        }
    }
}

/// Returns the protocols of a guest's offer that can be served.
fn offer(offered: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Refused> {
    let is_served = |protocol: &&Vec<u8>| [H2, HTTP1].contains(&protocol.as_slice());
    let served: Vec<_> = offered.iter().filter(is_served).cloned().collect();
    if served.is_empty() && !offered.is_empty() {
        return Err(Refused::Protocol);
    }
    Ok(served)
}

/// Returns true if the certificates of a host are longer than a connection that rests may keep.
fn has_large_certificates(state: &CommonState) -> bool {
    let certificates = state.peer_certificates().unwrap_or_default();
    let bytes: usize = certificates
        .iter()
        .map(|certificate| certificate.len())
        .sum();
    bytes > CERTIFICATES_MAX_BYTES
}

fn is_http2(protocol: &[u8]) -> bool {
    protocol == H2
}

/// Returns the protocol that the host chose; the guest's preference if there is no host to choose.
fn chosen(host: &Host, offer: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    match host {
        Host::Proved(stream) => {
            let (_, state) = stream.get_ref();
            state
                .alpn_protocol()
                .map(<[u8]>::to_vec)
                .into_iter()
                .collect()
        }
        Host::Unproved(_) => offer,
    }
}

/// Copies a connection unchanged, after the bytes that were read. Returns true if both sides closed it.
async fn pass<S, D, F>(mut guest: S, read: &[u8], dial: D) -> Result<bool, Refused>
where
    S: AsyncRead + AsyncWrite + Unpin,
    D: FnOnce(Option<String>) -> F,
    F: Future<Output = io::Result<TcpStream>>,
{
    let mut host = dial(None).await.map_err(Refused::Dial)?;
    if host.write_all(read).await.is_err() {
        return Ok(false);
    }
    let copied =
        copy_bidirectional_with_sizes(&mut guest, &mut host, COPY_BUFFER_BYTES, COPY_BUFFER_BYTES);
    Ok(copied.await.is_ok())
}

#[cfg(test)]
mod tests;
