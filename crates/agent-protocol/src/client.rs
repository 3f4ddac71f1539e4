use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};

use crate::{
    Event, Exec, Failure, FrameError, FrameReader, FrameWriter, Info, Input, Request, VERSION,
};

/// Why a request got no good answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The agent cannot be reached.
    #[error("cannot reach the guest's agent")]
    Io(#[source] io::Error),
    /// What came is no answer.
    #[error("the guest's agent sent no usable answer")]
    Frame(#[from] FrameError),
    /// The connection ended before an answer came.
    #[error("the guest's agent hung up")]
    HungUp,
    /// The agent answered something else.
    #[error("the guest's agent answered out of turn")]
    OutOfTurn,
    /// The agent says why not.
    #[error("{}", .0.message)]
    Refused(Failure),
}

/// Asks the agent who it is; the answer comes once it is up.
///
/// # Errors
/// When it cannot be reached or answers wrongly.
pub async fn hello<T: AsyncRead + AsyncWrite + Unpin>(stream: T) -> Result<Info, ClientError> {
    match ask(stream, &Request::Hello { version: VERSION }).await? {
        Event::Info(info) => Ok(info),
        other => Err(unexpected(other)),
    }
}

/// Asks the agent to power the guest off; the answer comes once its disks are unmounted.
///
/// # Errors
/// When it cannot be reached or answers wrongly.
pub async fn shutdown<T: AsyncRead + AsyncWrite + Unpin>(stream: T) -> Result<(), ClientError> {
    match ask(stream, &Request::Shutdown).await? {
        Event::ShuttingDown => Ok(()),
        other => Err(unexpected(other)),
    }
}

async fn ask<T: AsyncRead + AsyncWrite + Unpin>(
    stream: T,
    request: &Request,
) -> Result<Event, ClientError> {
    let (read, write) = tokio::io::split(stream);
    FrameWriter::new(write).send(request).await?;
    FrameReader::new(read)
        .next()
        .await?
        .ok_or(ClientError::HungUp)
}

fn unexpected(event: Event) -> ClientError {
    match event {
        Event::Failed(failure) => ClientError::Refused(failure),
        _ => ClientError::OutOfTurn,
    }
}

/// A command that runs, seen from the host.
#[derive(Debug)]
pub struct ExecSession<T> {
    inputs: FrameWriter<WriteHalf<T>>,
    events: FrameReader<ReadHalf<T>>,
}

/// Where a command's input goes.
#[derive(Debug)]
pub struct Inputs<T>(FrameWriter<WriteHalf<T>>);

/// Where a command's output comes from.
#[derive(Debug)]
pub struct Events<T>(FrameReader<ReadHalf<T>>);

impl<T: AsyncRead + AsyncWrite + Unpin> ExecSession<T> {
    /// Asks for a command over a stream of its own. Whether it runs is the first event.
    ///
    /// # Errors
    /// When the stream fails.
    pub async fn start(stream: T, exec: Exec) -> Result<Self, ClientError> {
        let (read, write) = tokio::io::split(stream);
        let mut inputs = FrameWriter::new(write);
        inputs.send(&Request::Exec(exec)).await?;
        Ok(Self {
            inputs,
            events: FrameReader::new(read),
        })
    }

    /// The two directions, to be used at the same time. Dropping both ends the command.
    pub fn split(self) -> (Inputs<T>, Events<T>) {
        (Inputs(self.inputs), Events(self.events))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Inputs<T> {
    /// Sends input and waits until the stream has taken it.
    ///
    /// # Errors
    /// When the stream fails, as it does once the command has ended.
    pub async fn send(&mut self, input: &Input) -> Result<(), ClientError> {
        Ok(self.0.send(input).await?)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Events<T> {
    /// The next event; `None` when the agent hung up.
    ///
    /// # Errors
    /// When the stream fails or brings something else.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        Ok(self.0.next().await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExitStatus, Session, serve};

    /// A guest that answers every exec by sending its first input back.
    async fn echo(stream: crate::Stream) -> Result<(), FrameError> {
        let (read, write) = tokio::io::split(stream);
        let (mut reader, mut writer) = (FrameReader::new(read), FrameWriter::new(write));
        let Some(Request::Exec(_)) = reader.next().await? else {
            return Ok(());
        };
        while let Some(input) = reader.next().await? {
            match input {
                Input::Stdin(bytes) => writer.send(&Event::Stdout(bytes)).await?,
                _ => writer.send(&Event::Exited(ExitStatus::Code(3))).await?,
            }
        }
        Ok(())
    }

    #[tokio::test]
    async fn many_execs_share_one_port() {
        let (host, guest) = tokio::io::duplex(1000);
        tokio::spawn(serve(guest, |stream| drop(tokio::spawn(echo(stream)))));
        let session = Session::connect(host).await.expect("connected");
        let mut running = Vec::new();
        for _ in 0..20 {
            let stream = session.open_stream().await.expect("opened");
            running.push(
                ExecSession::start(stream, Exec::default())
                    .await
                    .expect("started"),
            );
        }
        for (index, exec) in running.into_iter().enumerate() {
            let (mut inputs, mut events) = exec.split();
            let bytes = vec![u8::try_from(index).expect("small"); crate::CHUNK_MAX_BYTES];
            inputs
                .send(&Input::Stdin(bytes.clone()))
                .await
                .expect("sent");
            inputs.send(&Input::StdinEnd).await.expect("sent");
            assert_eq!(
                events.next().await.expect("read"),
                Some(Event::Stdout(bytes))
            );
            let exited = Event::Exited(ExitStatus::Code(3));
            assert_eq!(events.next().await.expect("read"), Some(exited));
        }
    }

    #[tokio::test]
    async fn a_guest_that_goes_away_ends_the_session() {
        let (host, guest) = tokio::io::duplex(1000);
        let task = tokio::spawn(serve(guest, drop));
        let session = Session::connect(host).await.expect("connected");
        task.abort();
        let stream = session.open_stream().await;
        let failed = match stream {
            Ok(stream) => hello(stream).await.is_err(),
            Err(_) => true,
        };
        assert!(failed);
    }
}
