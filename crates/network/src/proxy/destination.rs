use std::fmt;
use std::net::SocketAddrV4;

/// A destination as a proxy is told it: by its name if that is known, else by its address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Destination<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) address: SocketAddrV4,
}

impl fmt::Display for Destination<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "{name}:{}", self.address.port()),
            None => self.address.fmt(f),
        }
    }
}
