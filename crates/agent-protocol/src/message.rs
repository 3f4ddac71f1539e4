use serde::{Deserialize, Serialize};

/// What the host asks for: the first frame of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Who are you? Answered by [`Event::Info`].
    Hello {
        /// The host's [`crate::VERSION`].
        version: u32,
    },
    /// Run a command. Answered by [`Event::Started`], output, and [`Event::Exited`].
    Exec(Exec),
    /// End everything, sync, unmount, power off. Answered by [`Event::ShuttingDown`] once nothing
    /// is mounted that could lose data.
    Shutdown,
}

/// A command to run in the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exec {
    /// The program and its arguments. A program without `/` is looked up in `PATH` of `env`.
    pub argv: Vec<Vec<u8>>,
    /// The whole environment, `NAME=value`. The agent adds `HOME` where it is missing.
    pub env: Vec<Vec<u8>>,
    /// Working directory, made if it is missing, as docker does; empty means `/`.
    pub working_directory: Vec<u8>,
    /// `user[:group]`, names or numbers, resolved in the guest; empty means root.
    pub user: String,
    /// Give it a terminal of this size instead of three pipes.
    pub terminal: Option<WindowSize>,
    /// Whether standard input will be sent; without it the command reads end-of-file.
    pub stdin: bool,
}

/// What the host sends while a command runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// Bytes for standard input, at most [`crate::CHUNK_MAX_BYTES`].
    Stdin(Vec<u8>),
    /// No more standard input.
    StdinEnd,
    /// The terminal has another size now.
    Resize(WindowSize),
    /// Send this signal to the command's process group.
    Signal(i32),
}

/// A terminal's size, in character cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    /// Lines.
    pub rows: u16,
    /// Characters a line.
    pub columns: u16,
}

/// What the agent answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Answer to [`Request::Hello`].
    Info(Info),
    /// The command runs.
    Started {
        /// Its process id in the guest.
        pid: u32,
    },
    /// Bytes of standard output, or of the terminal.
    Stdout(Vec<u8>),
    /// Bytes of standard error.
    Stderr(Vec<u8>),
    /// The command ended, and all its output has been sent.
    Exited(ExitStatus),
    /// The request could not be carried out.
    Failed(Failure),
    /// Answer to [`Request::Shutdown`].
    ShuttingDown,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitStatus {
    /// It exited with this code.
    Code(u8),
    /// This signal killed it.
    Signal(u8),
}

/// Why a request could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of reason.
    pub kind: FailureKind,
    /// One line: what failed, on what, why.
    pub message: String,
}

/// The reasons that a host treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// No such program (exit code 127).
    CommandNotFound,
    /// The program is there and cannot be executed (exit code 126).
    CommandNotExecutable,
    /// The request itself is wrong: an unknown user, a working directory that is a file.
    BadRequest,
    /// Host and agent speak different versions.
    VersionMismatch,
    /// The guest could not do it: out of memory, out of processes.
    Guest,
}

/// What the agent says of itself and its boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// The agent's [`crate::VERSION`].
    pub version: u32,
    /// `uname -r`.
    pub kernel_release: String,
    /// Microseconds of guest uptime when the agent's `main` began.
    pub agent_started_us: u64,
    /// Microseconds of guest uptime when all mounts stood.
    pub mounts_done_us: u64,
}
