//! Plain values of options and results.

mod environment;
mod exit;
mod force;
mod notice;
mod removal;
mod signal;
mod size;
mod terminal;
mod ulimit;

pub use environment::Environment;
pub use exit::{Exit, Stopped};
pub use force::Force;
pub use msb_machine_records::EndReason;
pub use msb_sandbox_files::Text;
pub use notice::Notice;
pub use removal::Removal;
pub use signal::Signal;
pub use size::IntoSize;
pub use terminal::TerminalSize;
pub use ulimit::Ulimit;

use serde::{Deserialize, Deserializer};

/// A whole number, or the text of one.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a whole number from 0 or text is expected")]
pub(crate) enum NumberOrText {
    Number(u64),
    Text(String),
}

/// Returns a value that is written as itself, or as text that is parsed.
pub(crate) fn number_or_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<NumberOrText, D::Error> {
    NumberOrText::deserialize(deserializer)
}
