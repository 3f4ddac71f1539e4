use std::fmt;
use std::net::IpAddr;

/// The longest name of a host (RFC 1035), in bytes.
const NAME_MAX_BYTES: usize = 253;

/// A line of `/etc/hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    address: IpAddr,
    names: Vec<String>,
}

impl HostEntry {
    /// An address and what it is called; `None` where a name is none, or there is no name.
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
}

impl fmt::Display for HostEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\t{}", self.address, self.names.join(" "))
    }
}
