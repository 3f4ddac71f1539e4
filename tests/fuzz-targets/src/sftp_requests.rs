//! Packets of an SFTP client: what is accepted has the same value after a round trip, and the server, which is given
//! no request that changes files, answers or refuses the others within its bounds.

use sftp_server::{PACKET_MAX_BYTES, Request, Response};

/// The room for the length of a packet.
const LENGTH_BYTES: usize = 4;

/// Parses `bytes` as a request and as a response, and serves those that only read.
///
/// # Panics
/// If an accepted packet is written and read as another one, or an answer is longer than a packet.
pub fn run(bytes: &[u8]) {
    if let Ok((id, response)) = Response::parse(bytes) {
        let packet = response.to_packet(id);
        assert_eq!(Response::parse(body(&packet)), Ok((id, response)));
    }
    let Ok((id, request)) = Request::parse(bytes) else {
        return;
    };
    let packet = request.to_packet(id);
    assert_eq!(
        Request::parse(body(&packet)).as_ref(),
        Ok(&(id, request.clone()))
    );
    if reads(&request) && packet.len() <= PACKET_MAX_BYTES {
        // SSH_FXP_INIT of version 3.
        let mut input = vec![0, 0, 0, 5, 1, 0, 0, 0, 3];
        input.extend(&packet);
        let mut output = Vec::new();
        let served = sftp_server::serve(&input[..], &mut output);
        served.expect("a request that can be parsed is answered");
        assert!(output.len() <= 2 * (PACKET_MAX_BYTES + LENGTH_BYTES));
    }
}

fn reads(request: &Request) -> bool {
    matches!(
        request,
        Request::Close { .. }
            | Request::Read { .. }
            | Request::LStat { .. }
            | Request::FStat { .. }
            | Request::ReadDirectory { .. }
            | Request::RealPath { .. }
            | Request::Stat { .. }
            | Request::ReadLink { .. }
    )
}

fn body(packet: &[u8]) -> &[u8] {
    packet.get(LENGTH_BYTES..).unwrap_or_default()
}
