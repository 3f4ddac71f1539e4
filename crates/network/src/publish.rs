use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU16;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A port of the host that leads to one of the guest's: what `-p` takes.
///
/// `8080:80`, `0.0.0.0:8080:80`, `5353:53/udp`. Without a host address it is 127.0.0.1, so that
/// nobody outside the host reaches the guest unless that is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Publish {
    /// Where the host listens.
    pub host: SocketAddrV4,
    /// The port in the guest.
    pub guest_port: u16,
    /// Over which protocol.
    pub protocol: Protocol,
}

/// What ports belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Streams.
    Tcp,
    /// Datagrams.
    Udp,
}

/// Not a published port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not [HOST_IP:]HOST_PORT:GUEST_PORT[/tcp|udp] with an IPv4 address")]
pub struct InvalidPublish {
    /// What was written.
    pub text: String,
}

impl FromStr for Publish {
    type Err = InvalidPublish;

    fn from_str(text: &str) -> Result<Self, InvalidPublish> {
        parse(text).ok_or_else(|| InvalidPublish {
            text: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<Publish> {
    let (ports, protocol) = match text.split_once('/') {
        None | Some((_, "tcp")) => (text.trim_end_matches("/tcp"), Protocol::Tcp),
        Some((ports, "udp")) => (ports, Protocol::Udp),
        Some(_) => return None,
    };
    let port = |text: &str| text.parse::<NonZeroU16>().ok().map(NonZeroU16::get);
    let (host, guest_port) = ports.rsplit_once(':')?;
    let (address, host_port) = match host.rsplit_once(':') {
        Some((address, host_port)) => (address.parse().ok()?, host_port),
        None => (Ipv4Addr::LOCALHOST, host),
    };
    Some(Publish {
        host: SocketAddrV4::new(address, port(host_port)?),
        guest_port: port(guest_port)?,
        protocol,
    })
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

impl fmt::Display for Publish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.host, self.guest_port, self.protocol)
    }
}

impl TryFrom<String> for Publish {
    type Error = InvalidPublish;

    fn try_from(text: String) -> Result<Self, InvalidPublish> {
        text.parse()
    }
}

impl From<Publish> for String {
    fn from(publish: Publish) -> Self {
        publish.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_port_is_local_unless_said_otherwise() {
        for (text, canonical) in [
            ("8080:80", "127.0.0.1:8080:80/tcp"),
            ("8080:80/tcp", "127.0.0.1:8080:80/tcp"),
            ("0.0.0.0:8080:80", "0.0.0.0:8080:80/tcp"),
            ("5353:53/udp", "127.0.0.1:5353:53/udp"),
        ] {
            let publish: Publish = text.parse().unwrap();
            assert_eq!(publish.to_string(), canonical);
            assert_eq!(canonical.parse::<Publish>().unwrap(), publish);
        }
        for text in [
            "",
            "80",
            "0:80",
            "80:0",
            "a:80",
            "80:80/sctp",
            "::1:80:80",
            "1:2:3:4",
            "80:80/",
        ] {
            assert!(text.parse::<Publish>().is_err(), "{text}");
        }
    }
}
