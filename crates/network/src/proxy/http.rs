//! A connection through an HTTP proxy: `CONNECT` (RFC 9110, section 9.3.6).

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use zeroize::Zeroizing;

use super::credentials::Credentials;
use super::destination::Destination;
use super::failure::ProxyFailure;

/// The longest head of an answer: as long as the heads that servers accept by default.
const HEAD_MAX_BYTES: usize = 8 * 1024;
/// The bytes that are looked at in one step.
const STEP_BYTES: usize = 1024;
/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// Asks a proxy for a connection. What follows the head of its answer is left in the stream.
pub(super) async fn connect(
    stream: &mut TcpStream,
    to: &Destination<'_>,
    credentials: Option<&Credentials>,
) -> Result<(), ProxyFailure> {
    let request = request(to, credentials);
    let written = stream.write_all(request.as_bytes()).await;
    written.map_err(|_| ProxyFailure::Answer)?;
    match status(&read_head(stream).await?) {
        Some(200..=299) => Ok(()),
        Some(status) => Err(ProxyFailure::Refused { status }),
        None => Err(ProxyFailure::Answer),
    }
}

fn request(to: &Destination<'_>, credentials: Option<&Credentials>) -> Zeroizing<String> {
    let head = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n");
    let basic = credentials.map(Credentials::basic);
    let parts = match &basic {
        Some(basic) => [
            head.as_str(),
            "Proxy-Authorization: ",
            basic.as_str(),
            "\r\n\r\n",
        ],
        None => [head.as_str(), "", "", "\r\n"],
    };
    Zeroizing::new(parts.concat())
}

/// Reads the head of an answer, and nothing beyond it: the bytes are looked at before they are taken.
async fn read_head(stream: &mut TcpStream) -> Result<Vec<u8>, ProxyFailure> {
    let mut head = Vec::new();
    let mut step = [0; STEP_BYTES];
    while head.len() < HEAD_MAX_BYTES {
        let there = stream.peek(&mut step).await;
        let there = there.map_err(|_| ProxyFailure::Answer)?;
        let before = head.len();
        head.extend(step.iter().take(there));
        let end = end_of_head(&head, before);
        head.truncate(end.unwrap_or(head.len()));
        let mut taken = vec![0; head.len().saturating_sub(before)];
        if taken.is_empty() || stream.read_exact(&mut taken).await.is_err() {
            return Err(ProxyFailure::Answer);
        }
        if end.is_some() {
            return Ok(head);
        }
    }
    Err(ProxyFailure::Answer)
}

/// Returns the length of the head if it is complete. It was not within its first `before` bytes.
fn end_of_head(head: &[u8], before: usize) -> Option<usize> {
    let from = before.saturating_sub(END.len() - 1);
    let mut places = head.windows(END.len()).skip(from);
    let place = places.position(|bytes| bytes == END)?;
    Some(from + place + END.len())
}

/// Returns the status of an answer that is a final one. `None` if it is not of HTTP/1.
fn status(head: &[u8]) -> Option<u16> {
    let line = head.strip_prefix(b"HTTP/1.")?;
    let rest = line
        .strip_prefix(b"1 ")
        .or_else(|| line.strip_prefix(b"0 "))?;
    let (digits, rest) = rest.split_first_chunk::<3>()?;
    let is_number = digits.iter().all(u8::is_ascii_digit);
    if !is_number || !matches!(rest.first(), Some(b' ' | b'\r')) {
        return None;
    }
    let status: u16 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (200..=599).contains(&status).then_some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_however_it_is_cut() {
        let head = b"HTTP/1.1 200 OK\r\na: b\r\n\r\n";
        for before in 0..head.len() - 1 {
            let all = [&head[..], b"data"].concat();
            assert_eq!(end_of_head(&all, before), Some(head.len()), "{before}");
        }
        assert_eq!(end_of_head(&head[..head.len() - 1], 0), None);
        assert_eq!(end_of_head(b"", 0), None);
    }

    #[test]
    fn only_a_final_status_of_http_1_counts() {
        for (head, expected) in [
            (
                &b"HTTP/1.1 200 Connection established\r\n\r\n"[..],
                Some(200),
            ),
            (b"HTTP/1.0 407\r\n\r\n", Some(407)),
            (b"HTTP/1.1 100 Continue\r\n\r\n", None),
            (b"HTTP/1.1 2000\r\n\r\n", None),
            (b"HTTP/1.1 2x0 OK\r\n\r\n", None),
            (b"HTTP/2 200\r\n\r\n", None),
            (b"HTTP/1.1 20", None),
            (b"SSH-2.0-x\r\n\r\n", None),
            (b"", None),
        ] {
            assert_eq!(status(head), expected, "{}", head.escape_ascii());
        }
    }
}
