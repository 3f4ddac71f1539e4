use serde::{Deserialize, Serialize};

/// The size of a command's terminal, in character cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TerminalSize {
    /// Number of rows.
    pub rows: u16,
    /// Number of columns.
    pub cols: u16,
}

impl Default for TerminalSize {
    /// Returns 24 rows and 80 columns.
    fn default() -> Self {
        Self { rows: 24, cols: 80 }
    }
}

impl From<(u16, u16)> for TerminalSize {
    fn from((rows, cols): (u16, u16)) -> Self {
        Self { rows, cols }
    }
}

impl From<TerminalSize> for msb_agent_protocol::v1::WindowSize {
    fn from(size: TerminalSize) -> Self {
        Self {
            rows: size.rows.into(),
            columns: size.cols.into(),
        }
    }
}
