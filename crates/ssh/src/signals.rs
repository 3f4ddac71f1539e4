//! The names of signals in the protocol.

use msb_sdk::Signal;
use russh::Sig;

/// The signals that the protocol names.
const NAMES: [(u8, &str); 12] = [
    (1, "HUP"),
    (2, "INT"),
    (3, "QUIT"),
    (4, "ILL"),
    (6, "ABRT"),
    (8, "FPE"),
    (9, "KILL"),
    (10, "USR1"),
    (11, "SEGV"),
    (13, "PIPE"),
    (14, "ALRM"),
    (15, "TERM"),
];
/// The name of any other signal, as OpenSSH sends it.
const OTHER: &str = "SIG@openssh.com";

/// Returns the name of the signal that ended a command.
pub(crate) fn name(number: u8) -> Sig {
    let known = NAMES.iter().find(|(known, _)| *known == number);
    match known.map_or(OTHER, |(_, name)| name) {
        "HUP" => Sig::HUP,
        "INT" => Sig::INT,
        "QUIT" => Sig::QUIT,
        "ILL" => Sig::ILL,
        "ABRT" => Sig::ABRT,
        "FPE" => Sig::FPE,
        "KILL" => Sig::KILL,
        "USR1" => Sig::USR1,
        "SEGV" => Sig::SEGV,
        "PIPE" => Sig::PIPE,
        "ALRM" => Sig::ALRM,
        "TERM" => Sig::TERM,
        other => Sig::Custom(other.to_owned()),
    }
}

/// Returns the signal that a client names; `None` if it is not one of Linux.
pub(crate) fn named(name: &Sig) -> Option<Signal> {
    let name = match name {
        Sig::HUP => "HUP",
        Sig::INT => "INT",
        Sig::QUIT => "QUIT",
        Sig::ILL => "ILL",
        Sig::ABRT => "ABRT",
        Sig::FPE => "FPE",
        Sig::KILL => "KILL",
        Sig::USR1 => "USR1",
        Sig::SEGV => "SEGV",
        Sig::PIPE => "PIPE",
        Sig::ALRM => "ALRM",
        Sig::TERM => "TERM",
        Sig::Custom(name) => name,
    };
    Signal::try_from(format!("SIG{name}").as_str()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_keeps_its_number() {
        for (number, _) in NAMES {
            let signal = named(&name(number)).expect("a signal of Linux");
            assert_eq!(signal.number(), i32::from(number));
        }
        let user = named(&Sig::Custom("USR2".to_owned())).expect("a signal of Linux");
        assert_eq!(user.number(), 12);
        assert!(named(&name(7)).is_none());
        assert!(named(&Sig::Custom("9".to_owned())).is_none());
    }
}
