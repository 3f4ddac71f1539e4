use std::fmt;
use std::io::{self, Read, Write};

use zeroize::Zeroizing;

/// The variables that name the proxies of a user, in the order in which they are looked for, and the destinations
/// without a proxy.
pub(crate) const PROXY_VARIABLES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// The longest variables, in bytes together: a list of exceptions has a few KiB.
const VARIABLES_MAX_BYTES: usize = 64 << 10;
/// The end of a variable, which its value cannot have, and of all of them.
const END: u8 = 0;

/// The variables of a user that name an upstream proxy. They may have a password: they are not printed, and their memory is
/// overwritten.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxyVariables(Vec<(&'static str, Zeroizing<String>)>);

impl ProxyVariables {
    /// Returns the variables of this process. One that is not text is left out.
    pub fn of_environment() -> Self {
        Self::of(|name| std::env::var(name).ok())
    }

    /// Returns the variables that have these values.
    pub(crate) fn of(value: impl Fn(&str) -> Option<String>) -> Self {
        let found = |name: &'static str| Some((name, Zeroizing::new(value(name)?)));
        Self(PROXY_VARIABLES.into_iter().filter_map(found).collect())
    }

    /// Returns the value of a variable; `None` if it is not set.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter();
        let (_, value) = all.find(|(known, _)| *known == name)?;
        Some(value)
    }

    /// Sends the variables to the process that dials the proxy.
    ///
    /// # Errors
    /// If they are longer than 64 KiB, or cannot be written.
    pub fn send(&self, mut stream: impl Write) -> io::Result<()> {
        let lengths = self
            .0
            .iter()
            .map(|(name, value)| name.len() + value.len() + 2);
        let length = lengths.sum::<usize>() + 1;
        if length > VARIABLES_MAX_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("they have {length} bytes, the limit is {VARIABLES_MAX_BYTES}"),
            ));
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(length));
        for (name, value) in &self.0 {
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(b'=');
            bytes.extend_from_slice(value.as_bytes());
            bytes.push(END);
        }
        bytes.push(END);
        stream.write_all(&bytes)
    }

    /// Takes the variables that another process has sent.
    ///
    /// # Errors
    /// If the stream cannot be read, or has anything else.
    pub fn receive(mut stream: impl Read) -> io::Result<Self> {
        // Of this length from the beginning: a buffer that grows leaves copies.
        let mut bytes = Zeroizing::new(vec![0; VARIABLES_MAX_BYTES + 1]);
        let mut length = 0;
        while let Some(room) = bytes.get_mut(length..).filter(|room| !room.is_empty()) {
            match stream.read(room) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let received = bytes.get(..length).unwrap_or_default();
        Self::parse(received).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut left = bytes.strip_suffix(&[END])?;
        let mut all = Vec::new();
        while !left.is_empty() {
            let end = left.iter().position(|byte| *byte == END)?;
            let (variable, rest) = left.split_at_checked(end)?;
            let (name, value) = std::str::from_utf8(variable).ok()?.split_once('=')?;
            let name = PROXY_VARIABLES.into_iter().find(|known| *known == name)?;
            all.push((name, Zeroizing::new(value.to_owned())));
            left = rest.get(1..)?;
        }
        Some(Self(all))
    }
}

impl fmt::Debug for ProxyVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxyVariables(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(of: &[(&str, &str)]) -> ProxyVariables {
        ProxyVariables::of(|name| {
            let found = of.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_are_received_as_they_were_sent_and_are_not_printed() {
        for of in [
            &[][..],
            &[("HTTPS_PROXY", "http://u:hunter2@proxy:3128")],
            &[
                ("all_proxy", ""),
                ("no_proxy", "a=b,10.0.0.0/8"),
                ("HOME", "/root"),
            ],
        ] {
            let sent = variables(of);
            let mut bytes = Vec::new();
            sent.send(&mut bytes).unwrap();
            assert!(ProxyVariables::receive(&bytes[..]).unwrap() == sent);
            // A process that was killed has sent a part.
            let cut = &bytes[..bytes.len() - 1];
            ProxyVariables::receive(cut).unwrap_err();
            assert_eq!(sent.get("HOME"), None);
            assert_eq!(format!("{sent:?}"), "ProxyVariables(…)");
        }
    }

    #[test]
    fn what_are_no_such_variables_is_refused() {
        let long = "a".repeat(VARIABLES_MAX_BYTES);
        variables(&[("NO_PROXY", &long)])
            .send(io::sink())
            .unwrap_err();
        let endless = [b"NO_PROXY=", long.as_bytes()].concat();
        for bytes in [
            &b""[..],
            b"HTTPS_PROXY=a",
            b"HTTPS_PROXY=a\0b\0",
            b"LD_PRELOAD=a\0\0",
            b"HTTPS_PROXY\0\0",
            b"HTTPS_PROXY=\xff\0\0",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            &endless,
        ] {
            let refused = ProxyVariables::receive(bytes).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        }
    }
}
