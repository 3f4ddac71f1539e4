use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fs_err as fs;

use crate::link::DNS_PORT;

/// The host's own list of resolvers.
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// The number of resolvers that the host's own resolver asks (`MAXNS` of resolv.h).
const RESOLVERS_MAX: usize = 3;
/// A longer file is not a list of resolvers.
const FILE_MAX_BYTES: u64 = 64 * 1024;

/// The resolvers to ask: those of the settings, or the host's current ones.
#[derive(Debug)]
pub(crate) struct Resolvers {
    said: Vec<SocketAddr>,
    /// The resolvers that the host's file named when it was last read.
    last: Mutex<Vec<SocketAddr>>,
}

impl Resolvers {
    pub(crate) fn new(said: Vec<SocketAddr>) -> Self {
        let resolvers = Self {
            said,
            last: Mutex::new(vec![SocketAddr::new(
                IpAddr::from([127, 0, 0, 1]),
                DNS_PORT,
            )]),
        };
        resolvers.now();
        resolvers
    }

    /// Returns the current resolvers. The file is read each time, because a host's resolvers change
    /// with the networks that it joins. If the file is missing or cannot be read, the last ones are
    /// returned.
    pub(crate) fn now(&self) -> Vec<SocketAddr> {
        if !self.said.is_empty() {
            return self.said.clone();
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(text) = read(Path::new(RESOLV_CONF)) {
            let found = parse(&text);
            *last = if found.is_empty() {
                // The default of resolv.conf(5) for a file without a name server.
                vec![SocketAddr::new(IpAddr::from([127, 0, 0, 1]), DNS_PORT)]
            } else {
                found
            };
        }
        last.clone()
    }

    /// Returns the paths that [`Resolvers::now`] reads.
    ///
    /// This is the file; or, if it is a symlink into a directory of a resolver program, that
    /// directory, in which the file is replaced by another. It is never the whole of `/etc`.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        if !self.said.is_empty() {
            return Vec::new();
        }
        let Ok(file) = fs::canonicalize(RESOLV_CONF) else {
            return Vec::new();
        };
        let directory = file.parent().filter(|directory| is_of_resolvers(directory));
        vec![directory.map_or_else(|| file.clone(), Path::to_owned)]
    }
}

/// Returns true if a directory belongs to a program that maintains the host's resolvers: it lies
/// below `/run`, where such programs create their directories.
fn is_of_resolvers(directory: &Path) -> bool {
    directory.starts_with("/run") && directory.components().count() > 2
}

fn read(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > FILE_MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    fs::read_to_string(path)
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
