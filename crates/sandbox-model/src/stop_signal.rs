use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Linux signal names; index 0 is signal 1.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];
/// The first and the last real-time signal, of which the C library of Linux keeps 32 and 33 for itself.
const RTMIN: u8 = 34;
const RTMAX: u8 = 64;
/// The last real-time signal that is counted from the first one; later ones are counted from the last.
const RTMIN_MAX: u8 = 49;
/// `SIGTERM`, which docker sends by default.
const TERMINATE: u8 = 15;

/// The signal that asks a sandbox's main command to end. Its text form is its name: `SIGTERM`, or
/// `SIGRTMIN+3` of a real-time signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StopSignal(u8);

/// The text is not a [`StopSignal`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a signal: write SIGTERM, TERM, 15 or SIGRTMIN+3")]
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
            None => real_time(name).or_else(|| text.parse().ok()),
        };
        let known = number.filter(|&number| {
            (1..=NAMES.len()).contains(&usize::from(number)) || (RTMIN..=RTMAX).contains(&number)
        });
        known.map(Self).ok_or_else(|| NoSignal {
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            RTMIN => f.write_str("SIGRTMIN"),
            RTMAX => f.write_str("SIGRTMAX"),
            number @ RTMIN..=RTMIN_MAX => write!(f, "SIGRTMIN+{}", number - RTMIN),
            number @ RTMIN..=RTMAX => write!(f, "SIGRTMAX-{}", RTMAX - number),
            number => write!(f, "SIG{}", NAMES[usize::from(number - 1)]),
        }
    }
}

impl TryFrom<String> for StopSignal {
    type Error = NoSignal;

    fn try_from(text: String) -> Result<Self, NoSignal> {
        text.parse()
    }
}

impl From<StopSignal> for String {
    fn from(signal: StopSignal) -> Self {
        signal.to_string()
    }
}

/// Returns the number of a real-time signal: `RTMIN`, `RTMIN+3`, `RTMAX-1`.
fn real_time(name: &str) -> Option<u8> {
    let steps = |steps: &str, sign| match steps {
        "" => Some(0),
        steps => steps.strip_prefix(sign)?.parse::<u8>().ok(),
    };
    if let Some(up) = name.strip_prefix("RTMIN") {
        return RTMIN.checked_add(steps(up, '+')?);
    }
    let number = RTMAX.checked_sub(steps(name.strip_prefix("RTMAX")?, '-')?)?;
    (number >= RTMIN).then_some(number)
}

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
            ("SIGRTMIN", 34),
            ("rtmin+3", 37),
            ("SIGRTMAX-1", 63),
            ("64", 64),
        ] {
            assert_eq!(text.parse().map(StopSignal::number), Ok(number));
        }
        for text in [
            "",
            "SIG",
            "0",
            "32",
            "33",
            "65",
            "-1",
            "SIGSIGTERM",
            "RTMIN-1",
            "RTMIN+31",
            "RTMIN+3x",
            "RTMIN+255",
            "RTMAX-31",
            "RTMAX-255",
        ] {
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
        for number in (1..=31).chain(34..=64) {
            let signal: StopSignal = number.to_string().parse().expect("a signal");
            assert_eq!(signal.to_string().parse(), Ok(signal));
        }
        for (number, name) in [
            ("37", "SIGRTMIN+3"),
            ("49", "SIGRTMIN+15"),
            ("50", "SIGRTMAX-14"),
        ] {
            let signal: StopSignal = number.parse().expect("a signal");
            assert_eq!(signal.to_string(), name);
        }
    }
}
