use std::fs;
use std::io;
use std::net::Ipv4Addr;

use super::interface::{Interface, add_default_route};

/// The word on the kernel's command line that describes the network. It holds the guest's address,
/// its gateway and the MTU in bytes: `192.0.0.2/29,192.0.0.1,1500`. Without it the guest has no
/// network.
const NETWORK_VARIABLE: &str = "msb_net";
/// The only network device of the guest.
const DEVICE: &str = "eth0";
/// The switch that disables IPv6, which the host does not forward.
const NO_IPV6: &str = "/proc/sys/net/ipv6/conf/eth0/disable_ipv6";

/// The guest's addresses on its network.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Network {
    pub(super) address: Ipv4Addr,
    prefix_bits: u8,
    /// The address of the default route and of the DNS server.
    pub(super) gateway: Ipv4Addr,
    mtu_bytes: u16,
}

/// Returns the network that the host gives the guest. `None` if it gives none, or the word cannot
/// be parsed.
pub(super) fn from_host() -> Option<Network> {
    parse(&std::env::var(NETWORK_VARIABLE).ok()?)
}

fn parse(word: &str) -> Option<Network> {
    let mut parts = word.split(',');
    let (address, prefix_bits) = parts.next()?.split_once('/')?;
    Some(Network {
        address: address.parse().ok()?,
        prefix_bits: prefix_bits.parse().ok().filter(|&bits| bits <= 32)?,
        gateway: parts.next()?.parse().ok()?,
        mtu_bytes: parts.next()?.parse().ok()?,
    })
}

impl Network {
    pub(super) fn bring_up(&self) -> io::Result<()> {
        // A kernel without IPv6 has no such file.
        let _ = fs::write(NO_IPV6, "1");
        let device = Interface::new(DEVICE)?;
        device.set_mtu(self.mtu_bytes)?;
        device.set_address(self.address, self.netmask())?;
        device.bring_up()?;
        add_default_route(self.gateway)
    }

    fn netmask(&self) -> Ipv4Addr {
        let host_bits = 32 - u32::from(self.prefix_bits);
        Ipv4Addr::from_bits(u32::MAX.checked_shl(host_bits).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_word_is_read() {
        let network = parse("192.0.0.2/29,192.0.0.1,1500").unwrap();
        assert_eq!(network.address, Ipv4Addr::new(192, 0, 0, 2));
        assert_eq!(network.gateway, Ipv4Addr::new(192, 0, 0, 1));
        assert_eq!(network.netmask(), Ipv4Addr::new(255, 255, 255, 248));
        assert_eq!(network.mtu_bytes, 1500);
        for word in [
            "",
            "1.2.3.4",
            "1.2.3.4/33,1.2.3.5,1500",
            "1.2.3.4/8,1.2.3.5",
        ] {
            assert_eq!(parse(word), None, "{word}");
        }
    }
}
