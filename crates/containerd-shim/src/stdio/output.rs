use std::io;

use tokio::fs::OpenOptions;
use tokio::io::AsyncWrite;
use tokio::net::unix::pipe;

use super::StdioError;
use super::paths::{Target, target};

/// An open output.
pub(super) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens an output; `None` for an empty address.
pub(super) async fn open_output(address: &str) -> Result<Option<Output>, StdioError> {
    Ok(match target(address)? {
        None => None,
        Some(Target::Fifo(path)) => {
            // Both ends in one descriptor: opening waits for no reader, and a reader that goes away, as with a restart
            // of containerd, makes the process wait and does not end it.
            let opened = pipe::OpenOptions::new().read_write(true).open_sender(&path);
            let sender = opened.map_err(|source| StdioError::Open { path, source })?;
            Some(Box::new(sender))
        }
        Some(Target::File(path)) => {
            let opened = OpenOptions::new()
                .append(true)
                .create(true)
                .open(&path)
                .await;
            let file = opened.map_err(|source| StdioError::Open { path, source })?;
            Some(Box::new(file))
        }
    })
}

/// The read end of a FIFO, and a write end that keeps it from ending while clients come and go.
pub(super) struct Input {
    pub(super) reader: pipe::Receiver,
    pub(super) holder: pipe::Sender,
}

/// Opens an input; `None` for an empty address.
pub(super) fn open_input(address: &str) -> Result<Option<Input>, StdioError> {
    let Some(Target::Fifo(path)) = target(address)? else {
        return Ok(None);
    };
    let open = || -> io::Result<Input> {
        Ok(Input {
            reader: pipe::OpenOptions::new().open_receiver(&path)?,
            holder: pipe::OpenOptions::new().open_sender(&path)?,
        })
    };
    match open() {
        Ok(input) => Ok(Some(input)),
        Err(source) => Err(StdioError::Open { path, source }),
    }
}
