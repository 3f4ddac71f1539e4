use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Protocol, Publish};

/// A port of a sandbox that a port of the host leads to.
///
/// In JSON it is an object, or text as `-p` of `msb run` takes it: `"8080:80"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Port {
    /// The port in the sandbox.
    pub guest_port: u16,
    /// The port of the host; 0 lets the host choose a free one at each start.
    pub host_port: u16,
    /// The address of the host to listen on.
    pub host_address: Ipv4Addr,
    /// The transport protocol.
    pub protocol: Protocol,
}

/// The text is not a port of a guest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a port: write PORT[/tcp|udp]")]
pub struct InvalidPort {
    /// The refused text, escaped.
    pub text: String,
}

/// The host's end of a published port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    address: Ipv4Addr,
    port: u16,
}

impl Host {
    /// Returns a free port of 127.0.0.1, which the host chooses at each start.
    pub const fn any() -> Self {
        Self::port(0)
    }

    /// Returns this port of 127.0.0.1.
    pub const fn port(port: u16) -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST,
            port,
        }
    }

    /// Returns the same port on another address of this host; 0.0.0.0 is all addresses.
    #[must_use]
    pub const fn at(mut self, address: Ipv4Addr) -> Self {
        self.address = address;
        self
    }
}

impl Port {
    /// Returns a port of the sandbox with the host's end.
    pub const fn new(guest_port: u16, host: Host) -> Self {
        Self {
            guest_port,
            host_port: host.port,
            host_address: host.address,
            protocol: Protocol::Tcp,
        }
    }

    /// Returns the port as one of UDP.
    #[must_use]
    pub const fn udp(mut self) -> Self {
        self.protocol = Protocol::Udp;
        self
    }

    /// Returns a port of the sandbox from text, `PORT[/tcp|udp]`.
    ///
    /// # Errors
    /// Other text.
    pub fn from_guest_port(text: &str) -> Result<Self, InvalidPort> {
        let publish = Publish::from_guest_port(text).ok_or_else(|| InvalidPort {
            text: terminal_text::escaped(text).into_owned(),
        })?;
        Ok(publish.into())
    }

    /// Returns the address and the port of the host.
    pub const fn host(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.host_address, self.host_port)
    }

    /// Returns the port as it is published.
    pub const fn publish(&self) -> Publish {
        Publish {
            host: self.host(),
            guest_port: self.guest_port,
            protocol: self.protocol,
        }
    }
}

/// Writes the port as `-p` of `msb run` takes it.
impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.publish().fmt(f)
    }
}

impl From<Publish> for Port {
    fn from(publish: Publish) -> Self {
        Self {
            guest_port: publish.guest_port,
            host_port: publish.host.port(),
            host_address: *publish.host.ip(),
            protocol: publish.protocol,
        }
    }
}

/// The forms of a port in JSON.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a port is text such as 8080:80, or an object with guest_port and host_port"
)]
enum PortForm {
    Text(String),
    Whole(WholePort),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WholePort {
    guest_port: u16,
    #[serde(default)]
    host_port: Option<u16>,
    #[serde(default)]
    host_address: Option<Ipv4Addr>,
    #[serde(default)]
    protocol: Protocol,
}

impl<'de> Deserialize<'de> for Port {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match PortForm::deserialize(deserializer)? {
            PortForm::Text(text) => text
                .parse::<Publish>()
                .map(Self::from)
                .map_err(serde::de::Error::custom),
            PortForm::Whole(whole) => Ok(Self {
                guest_port: whole.guest_port,
                host_port: whole.host_port.unwrap_or(0),
                host_address: whole.host_address.unwrap_or(Ipv4Addr::LOCALHOST),
                protocol: whole.protocol,
            }),
        }
    }
}
