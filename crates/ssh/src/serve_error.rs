use thiserror::Error;

/// The reason for which a client was not served, or not to its end.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The sandbox is not running, or does not answer.
    #[error("cannot connect to the sandbox")]
    Sandbox(#[source] msb_sdk::Error),
    /// The client does not speak the protocol, or its connection broke.
    #[error("cannot serve the SSH client")]
    Protocol(#[from] russh::Error),
    /// The client sends input, but does not read the output of the commands that read it.
    #[error("the SSH client has sent 64 MiB of input that wait for it to read output")]
    Flood,
}
