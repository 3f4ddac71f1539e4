use std::fmt;

use prost::Message;

use crate::Capabilities;

/// The value of a limit that does not limit, `RLIM_INFINITY`.
pub const UNLIMITED: u64 = u64::MAX;

/// The resources of setrlimit(2), by docker's names of them.
pub const RLIMITS: [&str; 16] = [
    "as",
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nice",
    "nofile",
    "nproc",
    "rss",
    "rtprio",
    "rttime",
    "sigpending",
    "stack",
];

/// A process of a container. Its `Debug` does not show the environment, which may hold secrets.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
#[prost(skip_debug)]
pub struct Process {
    /// The program and its arguments. A program without a slash is found in the `PATH` of the environment.
    #[prost(string, repeated, tag = "1")]
    pub args: Vec<String>,
    /// The variables, as `NAME=value`.
    #[prost(string, repeated, tag = "2")]
    pub env: Vec<String>,
    /// The working directory, an absolute path; it is made if it does not exist.
    #[prost(string, tag = "3")]
    pub cwd: String,
    /// The user, by number.
    #[prost(uint32, tag = "4")]
    pub uid: u32,
    /// The group, by number.
    #[prost(uint32, tag = "5")]
    pub gid: u32,
    /// The additional groups, by number.
    #[prost(uint32, repeated, tag = "6")]
    pub additional_gids: Vec<u32>,
    /// The file mode creation mask; `None` for 0o022.
    #[prost(uint32, optional, tag = "7")]
    pub umask: Option<u32>,
    /// The size of the terminal; `None` without a terminal.
    #[prost(message, optional, tag = "8")]
    pub terminal: Option<TerminalSize>,
    /// The limits of resources.
    #[prost(message, repeated, tag = "9")]
    pub rlimits: Vec<Rlimit>,
    /// The capabilities before exec; the kernel computes those after it.
    #[prost(message, required, tag = "10")]
    pub capabilities: Capabilities,
    /// True if the process cannot gain privileges by exec.
    #[prost(bool, tag = "11")]
    pub no_new_privileges: bool,
    /// The value of `oom_score_adj`; `None` to keep it.
    #[prost(sint32, optional, tag = "12")]
    pub oom_score_adj: Option<i32>,
}

/// The size of a terminal, in characters; zeros if it is not known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct TerminalSize {
    /// The number of columns.
    #[prost(uint32, tag = "1")]
    pub columns: u32,
    /// The number of rows.
    #[prost(uint32, tag = "2")]
    pub rows: u32,
}

/// A limit of a resource.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Rlimit {
    /// The resource, one of [`RLIMITS`].
    #[prost(string, tag = "1")]
    pub resource: String,
    /// The soft limit; [`UNLIMITED`] without one.
    #[prost(uint64, tag = "2")]
    pub soft: u64,
    /// The hard limit; [`UNLIMITED`] without one.
    #[prost(uint64, tag = "3")]
    pub hard: u64,
}

impl fmt::Debug for Process {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Process")
            .field("args", &self.args)
            .field("env", &format_args!("[{} variables]", self.env.len()))
            .field("cwd", &self.cwd)
            .field("uid", &self.uid)
            .field("gid", &self.gid)
            .field("additional_gids", &self.additional_gids)
            .field("umask", &self.umask)
            .field("terminal", &self.terminal)
            .field("rlimits", &self.rlimits)
            .field("capabilities", &self.capabilities)
            .field("no_new_privileges", &self.no_new_privileges)
            .field("oom_score_adj", &self.oom_score_adj)
            .finish()
    }
}
