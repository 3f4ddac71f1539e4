use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

/// One port, or a range of ports with both its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    /// Returns true if `port` is in the range.
    pub const fn contain(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }

    /// Returns the ports in ascending order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u16> {
        let count = usize::from(self.last - self.first) + 1;
        (0..count).map(move |index| self.first + u16::try_from(index).unwrap_or_default())
    }
}

/// The error for text that is neither a port nor a range of ports.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is neither a port from 1 to 65535 nor a range of ports such as 8000-8010")]
pub struct InvalidPorts {
    /// The text that was refused.
    pub text: String,
}

impl FromStr for Ports {
    type Err = InvalidPorts;

    fn from_str(text: &str) -> Result<Self, InvalidPorts> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.parse::<NonZeroU16>().map(NonZeroU16::get);
        match (port(first), port(last)) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self { first, last }),
            _ => Err(InvalidPorts {
                text: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_ranges_are_read() {
        let range: Ports = "8000-8010".parse().unwrap();
        assert!(range.contain(8000) && range.contain(8010));
        assert!(!range.contain(7999) && !range.contain(8011));
        assert_eq!(range.to_string(), "8000-8010");
        assert_eq!("443".parse::<Ports>().unwrap().to_string(), "443");
        for text in ["", "0", "65536", "9-8", "-", "1-", "a"] {
            assert!(text.parse::<Ports>().is_err(), "{text}");
        }
    }
}
