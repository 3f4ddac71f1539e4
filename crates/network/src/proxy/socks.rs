//! A connection through a SOCKS5 proxy (RFC 1928), with a user and a password (RFC 1929) if they are given.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::credentials::Credentials;
use super::destination::Destination;
use super::failure::ProxyFailure;

const VERSION: u8 = 5;
/// Methods of authentication (RFC 1928, section 3).
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
/// Types of addresses (RFC 1928, section 5).
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;
/// The command to connect.
const CONNECT: u8 = 1;
/// The version of the exchange of a user and a password.
const PASSWORD_VERSION: u8 = 1;

/// Asks a proxy for a connection. Each answer has a length that is known after its first bytes, so nothing beyond the last
/// one is read.
pub(super) async fn connect(
    stream: &mut TcpStream,
    to: &Destination<'_>,
    credentials: Option<&Credentials>,
) -> Result<(), ProxyFailure> {
    authenticate(stream, credentials).await?;
    write(stream, &request(to)).await?;
    let [version, reply, _, kind] = read::<4>(stream).await?;
    match (version, reply) {
        (VERSION, 0) => skip_address(stream, kind).await,
        (VERSION, reply) => Err(refused(reply)),
        _ => Err(ProxyFailure::Answer),
    }
}

/// Agrees on a method of authentication, and proves the user.
async fn authenticate(
    stream: &mut TcpStream,
    credentials: Option<&Credentials>,
) -> Result<(), ProxyFailure> {
    let offer: &[u8] = match credentials {
        Some(_) => &[VERSION, 2, NO_AUTHENTICATION, USER_AND_PASSWORD],
        None => &[VERSION, 1, NO_AUTHENTICATION],
    };
    write(stream, offer).await?;
    match (read::<2>(stream).await?, credentials) {
        ([VERSION, NO_AUTHENTICATION], _) => Ok(()),
        ([VERSION, USER_AND_PASSWORD], Some(credentials)) => {
            write(stream, &credentials.socks()).await?;
            match read::<2>(stream).await? {
                [PASSWORD_VERSION, 0] => Ok(()),
                [PASSWORD_VERSION, status] => Err(refused(status)),
                _ => Err(ProxyFailure::Answer),
            }
        }
        ([VERSION, 0xFF], _) => Err(refused(0xFF)),
        _ => Err(ProxyFailure::Answer),
    }
}

fn request(to: &Destination<'_>) -> Vec<u8> {
    let mut request = vec![VERSION, CONNECT, 0];
    let name = to.name.and_then(|name| {
        let length = u8::try_from(name.len()).ok()?;
        Some((length, name))
    });
    match name {
        Some((length, name)) => {
            request.extend([NAME, length]);
            request.extend_from_slice(name.as_bytes());
        }
        None => {
            request.push(IPV4);
            request.extend(to.address.ip().octets());
        }
    }
    request.extend(to.address.port().to_be_bytes());
    request
}

/// Reads the address that the proxy connects from, which is of no use.
async fn skip_address(stream: &mut TcpStream, kind: u8) -> Result<(), ProxyFailure> {
    let address_bytes = match kind {
        IPV4 => 4,
        IPV6 => 16,
        NAME => {
            let [length] = read::<1>(stream).await?;
            usize::from(length)
        }
        _ => return Err(ProxyFailure::Answer),
    };
    let mut address_and_port = vec![0; address_bytes + 2];
    let read = stream.read_exact(&mut address_and_port).await;
    read.map(drop).map_err(|_| ProxyFailure::Answer)
}

async fn write(stream: &mut TcpStream, bytes: &[u8]) -> Result<(), ProxyFailure> {
    let written = stream.write_all(bytes).await;
    written.map_err(|_| ProxyFailure::Answer)
}

async fn read<const LENGTH: usize>(stream: &mut TcpStream) -> Result<[u8; LENGTH], ProxyFailure> {
    let mut bytes = [0; LENGTH];
    let read = stream.read_exact(&mut bytes).await;
    read.map_err(|_| ProxyFailure::Answer)?;
    Ok(bytes)
}

fn refused(status: u8) -> ProxyFailure {
    ProxyFailure::Refused {
        status: status.into(),
    }
}
