use std::io;

use msb_agent_protocol::v1::connect_event::Event;
use msb_agent_protocol::v1::connect_input::Input;
use msb_agent_protocol::v1::{ConnectEnd, ConnectEvent, ConnectFailure, ConnectInput, Connected};
use msb_agent_protocol::{Bytes, Status};
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf,
};
use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt as _};

/// The most that is read of a socket at once, in bytes.
const READ_BYTES: usize = 32 << 10;

/// The host's end of a connection.
pub(super) struct Host(pub(super) mpsc::Sender<Result<ConnectEvent, Status>>);

/// The host has cut the connection.
struct Cut;

/// The way in which a direction ended before its end.
enum Broken {
    Cut,
    Failed(io::Error),
}

impl Host {
    async fn send(&self, event: Event) -> Result<(), Cut> {
        let event = ConnectEvent { event: Some(event) };
        self.0.send(Ok(event)).await.map_err(|_| Cut)
    }

    /// Reports that there is no connection.
    pub(super) async fn fail(&self, failure: ConnectFailure) {
        // The host may have disconnected.
        let _ = self.send(Event::Failed(failure)).await;
    }
}

/// Carries bytes between a socket and the host, until both directions have ended or one is cut.
pub(super) async fn carry<S, I>(socket: S, inputs: I, host: &Host)
where
    S: AsyncRead + AsyncWrite,
    I: Stream<Item = Result<ConnectInput, Status>> + Unpin,
{
    let (reader, writer) = tokio::io::split(socket);
    if host.send(Event::Connected(Connected {})).await.is_err() {
        return;
    }
    let carried = tokio::try_join!(read(reader, host), write(writer, inputs));
    if let Err(Broken::Failed(error)) = carried {
        let errno = error.raw_os_error().unwrap_or_default();
        let message = format!("the connection broke: {error}");
        host.fail(ConnectFailure { errno, message }).await;
    }
}

/// Sends the host what the socket's other end sends.
async fn read<S: AsyncRead>(mut reader: ReadHalf<S>, host: &Host) -> Result<(), Broken> {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let length = reader.read(&mut buffer).await.map_err(Broken::Failed)?;
        let data = Bytes::copy_from_slice(buffer.get(..length).unwrap_or_default());
        let is_end = data.is_empty();
        let event = if is_end {
            Event::End(ConnectEnd {})
        } else {
            Event::Data(data)
        };
        host.send(event).await.map_err(|Cut| Broken::Cut)?;
        if is_end {
            return Ok(());
        }
    }
}

/// Writes what the host sends. An end that takes no more bytes may still send some, so this is no failure.
async fn write<S, I>(mut writer: WriteHalf<S>, mut inputs: I) -> Result<(), Broken>
where
    S: AsyncWrite,
    I: Stream<Item = Result<ConnectInput, Status>> + Unpin,
{
    while let Some(Ok(ConnectInput { input: Some(input) })) = inputs.next().await {
        match input {
            Input::Data(data) if writer.write_all(&data).await.is_err() => return Ok(()),
            Input::Data(_) => {}
            Input::End(_) => {
                // The other end may be closed by now.
                let _ = writer.shutdown().await;
                return Ok(());
            }
            Input::Start(_) => break,
        }
    }
    Err(Broken::Cut)
}

#[cfg(test)]
mod tests;
