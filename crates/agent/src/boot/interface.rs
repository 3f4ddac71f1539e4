//! Network interfaces, set up with the ioctls that every kernel has.

#![expect(
    unsafe_code,
    reason = "interfaces and routes are set up by ioctls that no safe wrapper has"
)]

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::net::{AddressFamily, SocketType, socket};

/// A network interface, and the socket for its ioctls.
#[derive(Debug)]
pub(super) struct Interface {
    name: &'static str,
    socket: OwnedFd,
}

impl Interface {
    pub(super) fn new(name: &'static str) -> io::Result<Self> {
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        Ok(Self { name, socket })
    }

    pub(super) fn bring_up(&self) -> io::Result<()> {
        let mut request = self.request();
        let flags = libc::IFF_UP | libc::IFF_RUNNING;
        request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).unwrap_or_default();
        self.set(libc::SIOCSIFFLAGS, &mut request)
    }

    pub(super) fn set_address(&self, address: Ipv4Addr, netmask: Ipv4Addr) -> io::Result<()> {
        let mut request = self.request();
        request.ifr_ifru.ifru_addr = socket_address(address);
        self.set(libc::SIOCSIFADDR, &mut request)?;
        request.ifr_ifru.ifru_netmask = socket_address(netmask);
        self.set(libc::SIOCSIFNETMASK, &mut request)
    }

    pub(super) fn set_mtu(&self, mtu_bytes: u16) -> io::Result<()> {
        let mut request = self.request();
        request.ifr_ifru.ifru_mtu = libc::c_int::from(mtu_bytes);
        self.set(libc::SIOCSIFMTU, &mut request)
    }

    fn request(&self) -> libc::ifreq {
        // SAFETY: `ifreq` is plain data for which all zeros is a valid value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (slot, byte) in request.ifr_name.iter_mut().zip(self.name.bytes()) {
            *slot = libc::c_char::try_from(byte).unwrap_or_default();
        }
        request
    }

    fn set(&self, call: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: the descriptor is an open socket, each of the calls above takes a pointer to an
        // `ifreq`, and `request` lives until the call returns.
        let outcome = unsafe { libc::ioctl(self.socket.as_raw_fd(), call, &raw mut *request) };
        done(outcome)
    }
}

/// Adds the default route, by way of `gateway`.
pub(super) fn add_default_route(gateway: Ipv4Addr) -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: `rtentry` is plain data for which all zeros is a valid value; its pointer is the name
    // of a device, and null stands for no device.
    let mut route: libc::rtentry = unsafe { std::mem::zeroed() };
    route.rt_dst = socket_address(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = socket_address(Ipv4Addr::UNSPECIFIED);
    route.rt_gateway = socket_address(gateway);
    route.rt_flags = libc::RTF_UP | libc::RTF_GATEWAY;
    // SAFETY: the descriptor is an open socket, SIOCADDRT takes a pointer to an `rtentry`, and
    // `route` lives until the call returns.
    let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT, &raw mut route) };
    done(outcome)
}

fn done(outcome: libc::c_int) -> io::Result<()> {
    match outcome {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns a `sockaddr_in` in the form that these calls take: port 0, then the address.
fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: `sockaddr` is plain data for which all zeros is a valid value.
    let mut socket_address: libc::sockaddr = unsafe { std::mem::zeroed() };
    socket_address.sa_family = libc::sa_family_t::try_from(libc::AF_INET).unwrap_or_default();
    for (slot, byte) in socket_address.sa_data[2..].iter_mut().zip(address.octets()) {
        *slot = libc::c_char::from_le_bytes([byte]);
    }
    socket_address
}
