//! Connections to sockets of the guest, with the streams of a channel.

use std::pin::pin;

use bytes::Bytes;
use msb_agent_protocol::{GuestReader, GuestSocket, GuestWriter, Target};
use russh::ChannelOpenFailure;
use russh::server::ChannelOpenHandle;
use tokio::sync::mpsc;

use crate::channels::{Input, Receivers};
use crate::guest::{Guest, SocketError};
use crate::output::Output;

/// The code of a connection that failed.
const CONNECT_FAILED: u32 = 2;
/// The longest reason for a connection that failed, in characters. The guest writes it, and a client refuses packets
/// that are too long together with all its connections.
const REASON_MAX: usize = 512;

/// Connects to a socket of the guest, and carries bytes until both directions have ended.
pub(crate) async fn connect(
    guest: Guest,
    target: Target,
    reply: ChannelOpenHandle,
    output: Output,
    receivers: Receivers,
) {
    match guest.connect_socket(target).await {
        Ok(socket) => {
            reply.accept().await;
            carry(socket, output, receivers).await;
        }
        Err(error) => {
            let failure = ChannelOpenFailure::Other {
                code: CONNECT_FAILED,
                reason: reason(&error),
            };
            reply.reject(failure).await;
        }
    }
}

fn reason(error: &SocketError) -> String {
    let text = error.to_string();
    let text = terminal_text::escaped(&text);
    text.chars().take(REASON_MAX).collect()
}

/// Carries bytes between a socket and a channel until both directions have ended, and closes the channel.
pub(crate) async fn carry(socket: GuestSocket, output: Output, receivers: Receivers) {
    let GuestSocket { reader, writer } = socket;
    {
        let mut receiving = pin!(receive(reader, &output));
        let mut sending = pin!(send(writer, receivers.inputs));
        tokio::select! {
            // The connection is over, so the guest takes no more bytes.
            () = &mut receiving => {}
            () = &mut sending => receiving.await,
        }
    }
    output.close().await;
}

/// Sends the client what the guest sends, until the guest's end takes no more bytes either.
async fn receive(mut reader: GuestReader, output: &Output) {
    // A connection that breaks ends as one that is closed: the protocol has no other end.
    while let Ok(Some(bytes)) = reader.next().await {
        if output.send(bytes).await.is_err() {
            return;
        }
    }
    output.end().await;
    let _ = reader.ended().await;
}

/// Sends the guest what the client sends.
async fn send(writer: GuestWriter, mut inputs: mpsc::UnboundedReceiver<Input>) {
    while let Some(input) = inputs.recv().await {
        match input {
            Input::Data(waiting) => {
                if !writer.send(waiting.bytes.clone()).await {
                    return;
                }
            }
            Input::End => return writer.end().await,
        }
    }
}

/// Returns the TCP port that a client names; `None` if there is no such port.
pub(crate) fn port(host: &str, port: u32) -> Option<Target> {
    let port = u16::try_from(port).ok().filter(|&port| port > 0)?;
    Some(Target::Tcp(host.to_owned(), port))
}

/// Returns the Unix socket that a client names.
pub(crate) fn path(path: &str) -> Target {
    Target::Path(Bytes::from(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use msb_agent_protocol::ClientError;

    use super::*;

    #[test]
    fn a_reason_of_the_guest_is_short_and_plain() {
        let message = format!("\u{1b}[2J{}", "x".repeat(1 << 20));
        let error = SocketError::Guest(ClientError::Socket { errno: 0, message });
        let text = reason(&error);
        assert_eq!(text.chars().count(), REASON_MAX);
        assert!(!text.contains(char::is_control));
    }
}
