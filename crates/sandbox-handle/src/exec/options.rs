use std::collections::BTreeMap;
use std::time::Duration;

use msb_client::{Environment, TerminalSize, Text, Ulimit};
use msb_sandbox_model::Size;
use serde::{Deserialize, Serialize};

/// The most output that a collected command may print, unless the caller gives another limit.
const MAX_OUTPUT_BYTES: u64 = 32 << 20;

/// The options of a command in a running sandbox. All fields but `argv` have defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ExecOptions {
    /// The program and its arguments; no shell interprets them.
    pub argv: Vec<Text>,
    /// Environment variables, besides those of the sandbox.
    pub env: Environment,
    /// Working directory, an absolute path that must exist; the sandbox's own if `None`.
    pub cwd: Option<Text>,
    /// User, as `user[:group]`; the sandbox's own if `None`.
    pub user: Option<String>,
    /// Groups besides the user's.
    pub groups: Vec<String>,
    /// Resource limits, by name.
    pub ulimits: BTreeMap<String, Ulimit>,
    /// The terminal; `None` if the command gets pipes.
    pub tty: Option<TerminalSize>,
    /// True if standard input can be written; otherwise the command reads its end.
    pub stdin: bool,
    /// Time that the command may take, in ms; it is killed after that. A job has no limit.
    pub timeout_ms: Option<u64>,
    /// The most bytes of output that a collected command may print; 32 MiB if `None`. It is killed
    /// when it prints more.
    pub max_output: Option<Size>,
    /// True if a collected command fails the operation with another exit code than 0.
    pub check: bool,
    /// True if a snapshot is taken before the command, so that it can be undone, and the command is not started
    /// without it; the sandbox's own choice if `None`.
    pub snapshot: Option<bool>,
    /// True if the command is a part of msb, and not in the history.
    #[doc(hidden)]
    #[serde(skip)]
    pub is_unrecorded: bool,
}

impl ExecOptions {
    /// Returns the options of this command.
    pub fn new<T: Into<Text>>(argv: impl IntoIterator<Item = T>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    pub(super) fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }

    pub(super) fn max_output_bytes(&self) -> usize {
        let bytes = self.max_output.map_or(MAX_OUTPUT_BYTES, Size::bytes);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}
