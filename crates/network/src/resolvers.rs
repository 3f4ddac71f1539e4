use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use fs_err as fs;

use crate::link::DNS_PORT;

/// Where a host says who answers its own questions for names.
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// As many as the host's own resolver asks (`MAXNS`).
const RESOLVERS_MAX: usize = 3;
/// A longer file than this is not one.
const FILE_MAX_BYTES: u64 = 64 * 1024;

/// Whom to ask: those that were said, or the host's, as they are now.
#[derive(Debug)]
pub(crate) struct Resolvers(Vec<SocketAddr>);

impl Resolvers {
    pub(crate) const fn new(said: Vec<SocketAddr>) -> Self {
        Self(said)
    }

    /// A host's resolvers change with the networks that it joins, so they are read each time.
    pub(crate) fn now(&self) -> Vec<SocketAddr> {
        if !self.0.is_empty() {
            return self.0.clone();
        }
        let found = read(Path::new(RESOLV_CONF));
        match found.is_empty() {
            // What resolv.conf(5) says of a file without a name server.
            true => vec![SocketAddr::new(IpAddr::from([127, 0, 0, 1]), DNS_PORT)],
            false => found,
        }
    }
}

fn read(path: &Path) -> Vec<SocketAddr> {
    let is_short = fs::metadata(path).is_ok_and(|metadata| metadata.len() <= FILE_MAX_BYTES);
    let text = match is_short {
        true => fs::read_to_string(path).unwrap_or_default(),
        false => String::new(),
    };
    parse(&text)
}

fn parse(text: &str) -> Vec<SocketAddr> {
    let address = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let address = match words.next()? {
            "nameserver" => words.next()?,
            _ => return None,
        };
        Some(SocketAddr::new(address.parse().ok()?, DNS_PORT))
    };
    text.lines()
        .filter_map(address)
        .take(RESOLVERS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_are_found_in_a_hosts_file() {
        let text = "# nameserver 9.9.9.9\nsearch example.com\nnameserver 1.1.1.1\n\
            nameserver fe80::1%eth0\nnameserver 2606:4700::1111 \n nameserver\t8.8.8.8\n\
            nameserver 8.8.4.4\n";
        let found: Vec<_> = parse(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["1.1.1.1:53", "[2606:4700::1111]:53", "8.8.8.8:53"]);
    }
}
