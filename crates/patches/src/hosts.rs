use std::fmt;
use std::net::IpAddr;

/// Maximum length of a host name, in bytes (RFC 1035).
const NAME_MAX_BYTES: usize = 253;

/// A line of `/etc/hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    address: IpAddr,
    names: Vec<String>,
}

impl HostEntry {
    /// Returns the line for an address and its names.
    /// `None` if there is no name, or a name is empty, too long or has characters that no line can
    /// hold.
    pub fn new(address: IpAddr, names: Vec<String>) -> Option<Self> {
        let is_name = |name: &String| {
            (1..=NAME_MAX_BYTES).contains(&name.len())
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && byte != b'#')
        };
        let is_sound = !names.is_empty() && names.iter().all(is_name);
        is_sound.then_some(Self { address, names })
    }

    /// Returns the address.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns the names.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

impl fmt::Display for HostEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\t{}", self.address, self.names.join(" "))
    }
}
