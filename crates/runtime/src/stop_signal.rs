use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::as_text::described_as_text;

/// Linux signal names; index 0 is signal 1.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];
/// `SIGTERM`, which docker sends by default.
const TERMINATE: u8 = 15;

/// The signal that asks a sandbox's main command to end. Its text form is its name: `SIGTERM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StopSignal(u8);

/// The text is not a [`StopSignal`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a signal: write SIGTERM, TERM or 15; real-time signals are not supported")]
pub struct NoSignal {
    text: String,
}

impl StopSignal {
    /// Returns the signal's number on Linux.
    pub fn number(self) -> i32 {
        i32::from(self.0)
    }
}

impl Default for StopSignal {
    fn default() -> Self {
        Self(TERMINATE)
    }
}

impl FromStr for StopSignal {
    type Err = NoSignal;

    fn from_str(text: &str) -> Result<Self, NoSignal> {
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        let by_name = NAMES.iter().position(|known| *known == name);
        let number = match by_name {
            Some(index) => u8::try_from(index + 1).ok(),
            None => text.parse().ok(),
        };
        let known = number.filter(|&number| (1..=NAMES.len()).contains(&usize::from(number)));
        known.map(Self).ok_or_else(|| NoSignal {
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SIG{}", NAMES[usize::from(self.0 - 1)])
    }
}

described_as_text!(StopSignal);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_read_by_name_and_number() {
        for (text, number) in [
            ("SIGQUIT", 3),
            ("quit", 3),
            ("9", 9),
            ("TERM", 15),
            ("SIGSYS", 31),
        ] {
            assert_eq!(text.parse().map(StopSignal::number), Ok(number));
        }
        for text in ["", "SIG", "0", "32", "-1", "SIGRTMIN+3", "SIGSIGTERM"] {
            assert!(text.parse::<StopSignal>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_description_holds_the_name() {
        let signal: StopSignal = "2".parse().expect("a signal");
        let json = serde_json::to_string(&signal).expect("written");
        assert_eq!(json, "\"SIGINT\"");
        assert_eq!(
            serde_json::from_str::<StopSignal>(&json).expect("read"),
            signal
        );
        assert!(serde_json::from_str::<StopSignal>("\"99\"").is_err());
    }
}
