use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The transport after the greeting: HTTP/2 from the next byte on.
const TRANSPORT: u32 = 2;

/// The guest's greeting, sent first and after each restart of the guest's side.
const FROM_GUEST: &[u8; 12] = b"msb guest \r\n";
/// The host's answer.
const FROM_HOST: &[u8; 12] = b"msb host  \r\n";
/// The largest number of other bytes that are skipped before a greeting.
const NOISE_MAX_BYTES: usize = 1 << 20;

/// Greets from the guest's side: sends the greeting and waits for the host's answer. Bytes that an
/// earlier session left in the port are skipped.
pub(crate) async fn greet_host(io: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    send(io, FROM_GUEST).await?;
    receive(io, FROM_HOST).await
}

/// Greets from the host's side: waits for the guest's greeting, then answers.
pub(crate) async fn greet_guest(io: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    receive(io, FROM_GUEST).await?;
    send(io, FROM_HOST).await
}

async fn send(io: &mut (impl AsyncWrite + Unpin), words: &[u8; 12]) -> io::Result<()> {
    let mut greeting = words.to_vec();
    greeting.extend_from_slice(&TRANSPORT.to_be_bytes());
    io.write_all(&greeting).await?;
    io.flush().await
}

/// Reads up to the end of the greeting and not a byte further: HTTP/2 follows at once.
async fn receive(io: &mut (impl AsyncRead + Unpin), words: &[u8; 12]) -> io::Result<()> {
    let mut seen = [0_u8; 12];
    for _ in 0..NOISE_MAX_BYTES {
        seen.rotate_left(1);
        seen[11] = io.read_u8().await?;
        if seen == *words {
            let transport = io.read_u32().await?;
            return match transport {
                TRANSPORT => Ok(()),
                _ => Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "the peer speaks transport version {transport}, this side speaks version \
                         {TRANSPORT}"
                    ),
                )),
            };
        }
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        "no greeting came",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn noise_before_a_greeting_is_passed_over() {
        let (mut host, mut guest) = tokio::io::duplex(4096);
        guest
            .write_all(b"left over msb guest msb gu")
            .await
            .expect("written");
        let guest_side = tokio::spawn(async move { greet_host(&mut guest).await });
        greet_guest(&mut host).await.expect("greeted");
        guest_side.await.expect("joined").expect("greeted");
    }

    #[tokio::test]
    async fn another_transport_is_refused() {
        let (mut host, mut guest) = tokio::io::duplex(4096);
        guest.write_all(FROM_GUEST).await.expect("written");
        guest.write_u32(TRANSPORT + 1).await.expect("written");
        let error = greet_guest(&mut host).await.expect_err("refused");
        assert!(error.to_string().contains("transport version 3"), "{error}");
    }
}
