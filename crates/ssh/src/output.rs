use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::Exit;
use russh::ChannelWriteHalf;
use russh::server::{Handle, Msg};

use crate::intake::Intake;
use crate::signals;

/// The number of the stream that standard error is.
const STDERR: u32 = 1;

/// The output of a channel.
#[derive(Debug)]
pub(crate) struct Output {
    half: ChannelWriteHalf<Msg>,
    intake: Arc<Intake>,
}

/// The client has closed the channel or the connection.
#[derive(Debug)]
pub(crate) struct Closed;

impl Output {
    pub(crate) const fn new(half: ChannelWriteHalf<Msg>, intake: Arc<Intake>) -> Self {
        Self { half, intake }
    }

    /// Sends bytes, and waits until the client has room for them.
    pub(crate) async fn send(&self, bytes: Bytes) -> Result<(), Closed> {
        self.send_to(None, bytes).await
    }

    /// Sends bytes of standard error.
    pub(crate) async fn send_error(&self, bytes: Bytes) -> Result<(), Closed> {
        self.send_to(Some(STDERR), bytes).await
    }

    async fn send_to(&self, stream: Option<u32>, mut bytes: Bytes) -> Result<(), Closed> {
        while !bytes.is_empty() {
            let room = self.half.writable_packet_size().await;
            let is_starved = room == 0;
            let length = if is_starved {
                bytes.len()
            } else {
                room.min(bytes.len())
            };
            let chunk = bytes.split_to(length);
            let _starved = is_starved.then(|| self.intake.starve());
            let sent = match stream {
                None => self.half.data_bytes(chunk).await,
                Some(stream) => self.half.extended_data_bytes(stream, chunk).await,
            };
            sent.map_err(|_| Closed)?;
        }
        Ok(())
    }

    /// Sends the end of the output.
    pub(crate) async fn end(&self) {
        // A channel that is closed needs no end.
        let _ = self.half.eof().await;
    }

    /// Closes the channel.
    pub(crate) async fn close(&self) {
        // It may be closed already.
        let _ = self.half.close().await;
    }

    /// Sends the end of a command, and closes the channel.
    pub(crate) async fn exit(&self, handle: &Handle, exit: &Exit) {
        self.end().await;
        // The client may be gone.
        let _ = match exit.signal {
            Some(signal) => {
                let name = signals::name(signal);
                let (text, language) = (String::new(), String::new());
                let sent = handle.exit_signal_request(self.half.id(), name, false, text, language);
                sent.await.map_err(|()| Closed)
            }
            None => {
                let sent = self.half.exit_status(exit.code.into()).await;
                sent.map_err(|_| Closed)
            }
        };
        self.close().await;
    }

    /// Reports that a command did not run, and closes the channel.
    pub(crate) async fn fail(&self, message: &str, exit_code: u8) {
        // The client may be gone.
        let _ = self.send_error(Bytes::from(message.to_owned())).await;
        self.end().await;
        let _ = self.half.exit_status(exit_code.into()).await;
        self.close().await;
    }
}
