use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The variable by which programs find an SSH agent.
pub const AGENT_VARIABLE: &str = "SSH_AUTH_SOCK";
/// The path of the forwarded SSH agent in the guest.
pub const AGENT_PATH: &str = "/dev/msb/ssh-agent.sock";
/// The longest path of a Unix socket on Linux, in bytes.
const PATH_MAX_BYTES: usize = 107;
/// The names of the sockets of container engines, through which whoever connects is root on the host.
const ENGINES: [&str; 8] = [
    "docker.sock",
    "podman.sock",
    "containerd.sock",
    "containerd.sock.ttrpc",
    "crio.sock",
    "cri-dockerd.sock",
    "buildkitd.sock",
    "k3s.sock",
];

/// A Unix socket of the host that programs of the guest connect to, as `HOST_PATH:GUEST_PATH[:OPTIONS]`.
///
/// Options are separated by commas: `mode=` with permission bits in octal, `owner=` with `USER` or `USER.GROUP`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct SocketForward(String);

/// The text is not a [`SocketForward`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSocketForward {
    /// A part is missing, or is not one.
    #[error(
        "'{}' is not a forwarded socket: write HOST_PATH:GUEST_PATH with absolute paths of at most 107 bytes, such as \
         /run/user/1000/pulse/native:/tmp/pulse, and after another ':' mode=666 or owner=USER", .text.escape_debug()
    )]
    Form {
        /// The refused text.
        text: String,
    },
    /// The socket is that of a container engine.
    #[error(
        "the socket '{}' is not forwarded: it is the host, because its clients run anything there as root",
        .path.escape_debug()
    )]
    Engine {
        /// The path on the host.
        path: String,
    },
}

/// Returns true if a socket of this path is that of a container engine by its name.
#[must_use]
pub fn is_engine_socket(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    ENGINES.contains(&name)
}

impl SocketForward {
    /// Returns the path of the host's socket.
    #[must_use]
    pub fn host_path(&self) -> &str {
        self.part(0)
    }

    /// Returns the path of the socket in the guest.
    #[must_use]
    pub fn guest_path(&self) -> &str {
        self.part(1)
    }

    /// Returns the permission bits of the socket in the guest. By default every user of the guest can connect.
    #[must_use]
    pub fn mode(&self) -> u32 {
        let mode = self.option("mode=");
        mode.and_then(parse_mode).unwrap_or(0o666)
    }

    /// Returns the owner of the socket in the guest, as `USER` or `USER:GROUP`; empty for root.
    #[must_use]
    pub fn owner(&self) -> String {
        let owner = self.option("owner=").unwrap_or_default();
        owner.replacen('.', ":", 1)
    }

    fn part(&self, index: usize) -> &str {
        self.0.split(':').nth(index).unwrap_or_default()
    }

    fn option(&self, name: &str) -> Option<&str> {
        let mut options = self.part(2).split(',');
        options.find_map(|option| option.strip_prefix(name))
    }
}

impl FromStr for SocketForward {
    type Err = InvalidSocketForward;

    fn from_str(text: &str) -> Result<Self, InvalidSocketForward> {
        let parts: Vec<&str> = text.split(':').collect();
        let is_one = match parts.as_slice() {
            [host, guest] => is_path(host) && is_path(guest),
            [host, guest, options] => {
                is_path(host) && is_path(guest) && options.split(',').all(is_option)
            }
            _ => false,
        };
        if !is_one {
            return Err(InvalidSocketForward::Form {
                text: text.to_owned(),
            });
        }
        let forward = Self(text.to_owned());
        if is_engine_socket(forward.host_path()) {
            return Err(InvalidSocketForward::Engine {
                path: forward.host_path().to_owned(),
            });
        }
        Ok(forward)
    }
}

fn is_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.ends_with('/')
        && path.len() <= PATH_MAX_BYTES
        && !path.chars().any(char::is_control)
}

fn is_option(option: &str) -> bool {
    match option.split_once('=') {
        Some(("mode", mode)) => parse_mode(mode).is_some(),
        Some(("owner", owner)) => {
            let is_letter =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
            !owner.is_empty() && !owner.starts_with('.') && owner.bytes().all(is_letter)
        }
        _ => false,
    }
}

fn parse_mode(text: &str) -> Option<u32> {
    let mode = u32::from_str_radix(text, 8).ok()?;
    (mode <= 0o777).then_some(mode)
}

impl TryFrom<String> for SocketForward {
    type Error = InvalidSocketForward;

    fn try_from(text: String) -> Result<Self, InvalidSocketForward> {
        text.parse()
    }
}

impl From<SocketForward> for String {
    fn from(forward: SocketForward) -> Self {
        forward.0
    }
}

impl fmt::Display for SocketForward {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
