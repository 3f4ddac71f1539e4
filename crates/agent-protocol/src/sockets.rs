use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::v1::{
    AcceptEvent, AcceptRequest, Accepted, ConnectEnd, ConnectEvent, ConnectInput, ConnectStart,
    TcpTarget, accept_event, connect_event, connect_input, connect_start,
};
use crate::{Client, ClientError};

/// The number of inputs that may wait for the connection.
const PENDING_INPUTS: usize = 4;
/// The most that is read of a stream at once, in bytes.
const READ_BYTES: usize = 32 << 10;

/// A socket of the guest to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A TCP port of an address or a name, which is resolved in the guest; the guest's loopback if it is empty.
    Tcp(String, u16),
    /// The path of a Unix socket in the guest. An abstract name follows a byte 0.
    Path(Bytes),
}

/// A connection with a socket of the guest. Dropping its parts closes it.
#[derive(Debug)]
pub struct GuestSocket {
    /// The bytes from the guest.
    pub reader: GuestReader,
    /// The bytes to the guest.
    pub writer: GuestWriter,
}

/// The bytes that the guest's end of a connection sends.
#[derive(Debug)]
pub struct GuestReader(Streaming<ConnectEvent>);

/// The bytes for the guest's end of a connection. Dropping it without [`end`](Self::end) closes the connection.
#[derive(Debug)]
pub struct GuestWriter(mpsc::Sender<ConnectInput>);

/// The connections that processes of the guest make to a socket that a client listens on.
#[derive(Debug)]
pub struct Accepts(Streaming<AcceptEvent>);

impl Client {
    /// Connects to a socket of the guest.
    ///
    /// # Errors
    /// [`Socket`](ClientError::Socket) with the guest's reason if there is no connection,
    /// [`Unimplemented`](ClientError::Unimplemented) if the agent is older than the call.
    pub async fn connect_socket(&mut self, target: Target) -> Result<GuestSocket, ClientError> {
        let (inputs, pending) = beginning_with(match target {
            Target::Tcp(host, port) => {
                let port = port.into();
                connect_start::Target::Tcp(TcpTarget { host, port })
            }
            Target::Path(path) => connect_start::Target::Path(path),
        });
        let events = self.sandbox.connect(pending).await;
        let events = events.map_err(ClientError::for_file_call("connect"))?;
        GuestSocket::connected(inputs, events.into_inner()).await
    }

    /// Listens on a Unix socket of the guest until the result is dropped. Returns once processes can connect.
    ///
    /// # Errors
    /// [`Files`](ClientError::Files) if there can be no such socket,
    /// [`Unimplemented`](ClientError::Unimplemented) if the agent is older than the call.
    pub async fn accept(&mut self, request: AcceptRequest) -> Result<Accepts, ClientError> {
        let events = self.sandbox.accept(request).await;
        let events = events.map_err(ClientError::for_file_call("accept"))?;
        let mut accepts = Accepts(events.into_inner());
        match accepts.event().await? {
            Some(accept_event::Event::Listening(_)) => Ok(accepts),
            _ => Err(ClientError::OutOfTurn),
        }
    }

    /// Takes a connection that [`Accepts`] has reported.
    ///
    /// # Errors
    /// [`Files`](ClientError::Files) if the connection was closed.
    pub async fn carry(&mut self, id: u64) -> Result<GuestSocket, ClientError> {
        let (inputs, pending) = beginning_with(connect_start::Target::Accepted(id));
        let events = self.sandbox.carry(pending).await;
        let events = events.map_err(ClientError::for_file_call("carry"))?;
        GuestSocket::connected(inputs, events.into_inner()).await
    }
}

impl GuestSocket {
    async fn connected(
        inputs: mpsc::Sender<ConnectInput>,
        events: Streaming<ConnectEvent>,
    ) -> Result<Self, ClientError> {
        let mut reader = GuestReader(events);
        match reader.event().await? {
            Some(connect_event::Event::Connected(_)) => Ok(Self {
                reader,
                writer: GuestWriter(inputs),
            }),
            _ => Err(ClientError::OutOfTurn),
        }
    }

    /// Joins the connection with a stream, until both have ended in both directions.
    ///
    /// # Errors
    /// [`Io`](ClientError::Io) if the stream fails, otherwise as [`GuestReader::next`].
    pub async fn join<S: AsyncRead + AsyncWrite>(self, stream: S) -> Result<(), ClientError> {
        let Self { mut reader, writer } = self;
        let (mut input, mut output) = tokio::io::split(stream);
        let receiving = async {
            while let Some(bytes) = reader.next().await? {
                output.write_all(&bytes).await.map_err(ClientError::Io)?;
            }
            // The stream's other end may be closed by now.
            let _ = output.shutdown().await;
            reader.ended().await
        };
        let sending = async {
            let mut buffer = vec![0; READ_BYTES];
            loop {
                let length = input.read(&mut buffer).await.map_err(ClientError::Io)?;
                let bytes = Bytes::copy_from_slice(buffer.get(..length).unwrap_or_default());
                if bytes.is_empty() {
                    break;
                }
                if !writer.send(bytes).await {
                    return Ok(());
                }
            }
            writer.end().await;
            Ok::<(), ClientError>(())
        };
        tokio::pin!(receiving, sending);
        tokio::select! {
            // The call is over, so the guest takes no more bytes.
            received = &mut receiving => received,
            sent = &mut sending => {
                sent?;
                receiving.await
            }
        }
    }
}

impl GuestReader {
    /// Returns the next bytes; `None` once the guest's end sends no more.
    ///
    /// # Errors
    /// [`Socket`](ClientError::Socket) if the connection broke, [`OutOfTurn`](ClientError::OutOfTurn) if the guest is
    /// gone.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        match self.event().await? {
            Some(connect_event::Event::Data(data)) => Ok(Some(data)),
            Some(connect_event::Event::End(_)) => Ok(None),
            _ => Err(ClientError::OutOfTurn),
        }
    }

    /// Waits, after the last bytes, until the guest's end takes no more bytes either.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn ended(&mut self) -> Result<(), ClientError> {
        match self.event().await? {
            None => Ok(()),
            Some(_) => Err(ClientError::OutOfTurn),
        }
    }

    async fn event(&mut self) -> Result<Option<connect_event::Event>, ClientError> {
        let event = self.0.message().await;
        match event.map_err(ClientError::for_file_call("a connection"))? {
            None => Ok(None),
            Some(ConnectEvent {
                event: Some(connect_event::Event::Failed(failure)),
            }) => Err(ClientError::Socket {
                errno: failure.errno,
                message: failure.message,
            }),
            Some(ConnectEvent { event: Some(event) }) => Ok(Some(event)),
            Some(ConnectEvent { event: None }) => Err(ClientError::OutOfTurn),
        }
    }
}

impl GuestWriter {
    /// Sends bytes, and waits until there is room for them. Returns false if the guest's end takes no more. `bytes` are
    /// at most [`CHUNK_MAX_BYTES`](crate::CHUNK_MAX_BYTES) long.
    pub async fn send(&self, bytes: Bytes) -> bool {
        let input = Some(connect_input::Input::Data(bytes));
        self.0.send(ConnectInput { input }).await.is_ok()
    }

    /// Ends this direction, and nothing else.
    pub async fn end(self) {
        let input = Some(connect_input::Input::End(ConnectEnd {}));
        // A connection that is closed needs no end.
        let _ = self.0.send(ConnectInput { input }).await;
    }
}

impl Accepts {
    /// Returns the next connection; `None` once the guest listens no more.
    ///
    /// # Errors
    /// If the guest cannot listen on, or the connection with it fails.
    pub async fn next(&mut self) -> Result<Option<Accepted>, ClientError> {
        match self.event().await? {
            None => Ok(None),
            Some(accept_event::Event::Accepted(accepted)) => Ok(Some(accepted)),
            Some(accept_event::Event::Listening(_)) => Err(ClientError::OutOfTurn),
        }
    }

    async fn event(&mut self) -> Result<Option<accept_event::Event>, ClientError> {
        let event = self.0.message().await;
        match event.map_err(ClientError::for_file_call("accept"))? {
            None => Ok(None),
            Some(AcceptEvent { event: Some(event) }) => Ok(Some(event)),
            Some(AcceptEvent { event: None }) => Err(ClientError::OutOfTurn),
        }
    }
}

/// Returns a stream of inputs that begins with a start, and its sender.
fn beginning_with(
    target: connect_start::Target,
) -> (mpsc::Sender<ConnectInput>, ReceiverStream<ConnectInput>) {
    let (inputs, pending) = mpsc::channel(PENDING_INPUTS);
    let target = Some(target);
    let input = Some(connect_input::Input::Start(ConnectStart { target }));
    // The channel is empty, so there is room.
    let _ = inputs.try_send(ConnectInput { input });
    (inputs, ReceiverStream::new(pending))
}
