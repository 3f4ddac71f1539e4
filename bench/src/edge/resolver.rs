use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;

use anyhow::Result;

/// The address of a sandbox's gateway, which leads to this host's loopback.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);
/// The bytes of a query's header, and those behind its name.
const HEADER_BYTES: usize = 12;
const TYPE_BYTES: usize = 4;

/// Starts a resolver that leads every name to this host's loopback. It serves until this program ends.
pub(super) fn start() -> Result<SocketAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = socket.local_addr()?;
    thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((length, client)) = socket.recv_from(&mut buffer) {
            if let Some(answer) = buffer.get(..length).and_then(answer) {
                // A guest that does not listen asks again.
                let _ = socket.send_to(&answer, client);
            }
        }
    });
    Ok(address)
}

/// Returns the query, then one record: the queried name, A, IN, 60 s, the gateway.
fn answer(query: &[u8]) -> Option<Vec<u8>> {
    let name = query.get(HEADER_BYTES..)?;
    let name_bytes = name.iter().position(|byte| *byte == 0)? + 1;
    let mut answer = query.get(..2)?.to_vec();
    answer.extend([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
    answer.extend_from_slice(name.get(..name_bytes + TYPE_BYTES)?);
    answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
    answer.extend(GATEWAY.octets());
    Some(answer)
}
