use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU16;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Ports;

/// A host port that leads to a port of the guest.
///
/// `8080:80`, `0.0.0.0:8080:80`, `5353:53/udp`. Without a host address the port listens on
/// 127.0.0.1, so that other hosts can connect to the guest only if the user asks for it. Without a
/// host port, or with port 0, the host chooses a free one at each start: `80`, `0:80`,
/// `0.0.0.0::80`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Publish {
    /// The host address and port to listen on; port 0 lets the host choose.
    pub host: SocketAddrV4,
    /// The port in the guest.
    pub guest_port: u16,
    /// The transport protocol.
    pub protocol: Protocol,
}

/// A transport protocol that has ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}

/// The error for text that does not describe a published port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPublish {
    /// The text does not have the form of a published port.
    #[error(
        "'{text}' is not a published port: write [[HOST_IP:][HOST_PORT]:]PORT[/tcp|udp], with an \
         IPv4 address, and with ports or ranges such as 8000-8010"
    )]
    Form {
        /// The text that was refused.
        text: String,
    },
    /// The two ranges of ports have different lengths.
    #[error("'{text}': the two ranges of ports must be equally long")]
    Lengths {
        /// The text that was refused.
        text: String,
    },
}

impl Publish {
    /// Parses an argument of `-p`: one port, or a range of ports.
    ///
    /// # Errors
    /// If `text` does not have this form, or its two ranges have different lengths.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, InvalidPublish> {
        let form = || InvalidPublish::Form {
            text: text.to_owned(),
        };
        let (host, guest, protocol) = split(text).ok_or_else(form)?;
        let guest_ports: Ports = guest.parse().map_err(|_| form())?;
        let (address, host_ports) = match host.rsplit_once(':') {
            Some((address, ports)) => (address.parse().map_err(|_| form())?, ports),
            None => (Ipv4Addr::LOCALHOST, host),
        };
        let publish = |host_port, guest_port| Self {
            host: SocketAddrV4::new(address, host_port),
            guest_port,
            protocol,
        };
        if ["", CHOSEN].contains(&host_ports) {
            return Ok(guest_ports.iter().map(|port| publish(0, port)).collect());
        }
        let host_ports: Ports = host_ports.parse().map_err(|_| form())?;
        if host_ports.iter().len() != guest_ports.iter().len() {
            return Err(InvalidPublish::Lengths {
                text: text.to_owned(),
            });
        }
        let pairs = host_ports.iter().zip(guest_ports.iter());
        Ok(pairs.map(|(host, guest)| publish(host, guest)).collect())
    }

    /// Parses a guest port such as `80` or `53/udp`; the host chooses the host port. `None` if
    /// `text` does not have this form.
    pub fn from_guest_port(text: &str) -> Option<Self> {
        let (host, guest, protocol) = split(text)?;
        let guest_port = guest.parse().ok().map(NonZeroU16::get)?;
        host.is_empty().then_some(Self {
            host: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0),
            guest_port,
            protocol,
        })
    }
}

/// The host port that stands for any free port.
const CHOSEN: &str = "0";

/// Splits `text` into the host's part, the guest's part and the protocol.
fn split(text: &str) -> Option<(&str, &str, Protocol)> {
    let (ports, protocol) = match text.split_once('/') {
        None => (text, Protocol::Tcp),
        Some((ports, "tcp")) => (ports, Protocol::Tcp),
        Some((ports, "udp")) => (ports, Protocol::Udp),
        Some(_) => return None,
    };
    let (host, guest) = ports.rsplit_once(':').unwrap_or(("", ports));
    Some((host, guest, protocol))
}

impl FromStr for Publish {
    type Err = InvalidPublish;

    fn from_str(text: &str) -> Result<Self, InvalidPublish> {
        match Self::parse_all(text)?.as_slice() {
            [one] => Ok(*one),
            _ => Err(InvalidPublish::Form {
                text: text.to_owned(),
            }),
        }
    }
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
            // The host chooses.
            ("80", "127.0.0.1:0:80/tcp"),
            ("0:80", "127.0.0.1:0:80/tcp"),
            (":80", "127.0.0.1:0:80/tcp"),
            ("0.0.0.0::53/udp", "0.0.0.0:0:53/udp"),
        ] {
            let publish: Publish = text.parse().unwrap();
            assert_eq!(publish.to_string(), canonical);
            assert_eq!(canonical.parse::<Publish>().unwrap(), publish);
        }
        for text in [
            "",
            "0",
            "80:0",
            "a:80",
            "80:80/sctp",
            "::1:80:80",
            "1:2:3:4",
            "80:80/",
            "127.0.0.1:80",
            "81-80:81-80",
            "8000-8001:80-81",
        ] {
            assert!(text.parse::<Publish>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_of_ports_is_as_many() {
        let all = |text: &str| -> Result<Vec<String>, InvalidPublish> {
            let all = Publish::parse_all(text)?;
            Ok(all.iter().map(ToString::to_string).collect())
        };
        assert_eq!(
            all("8000-8002:80-82/udp").unwrap(),
            [
                "127.0.0.1:8000:80/udp",
                "127.0.0.1:8001:81/udp",
                "127.0.0.1:8002:82/udp"
            ]
        );
        assert_eq!(
            all("80-81").unwrap(),
            ["127.0.0.1:0:80/tcp", "127.0.0.1:0:81/tcp"]
        );
        assert_eq!(all("1-65535:1-65535").unwrap().len(), 65_535);
        let error = all("8000-8005:80").unwrap_err().to_string();
        assert!(error.contains("equally long"), "{error}");
    }

    #[test]
    fn a_port_that_an_image_exposes_is_one_of_the_guests() {
        let of = |text| Publish::from_guest_port(text).map(|publish| publish.to_string());
        assert_eq!(of("80/tcp").unwrap(), "127.0.0.1:0:80/tcp");
        assert_eq!(of("53/udp").unwrap(), "127.0.0.1:0:53/udp");
        assert_eq!(of("8080").unwrap(), "127.0.0.1:0:8080/tcp");
        for text in ["", "0/tcp", "80/sctp", "1:80", "80-81/tcp", "\u{1b}[31m"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
