use std::str::FromStr;

/// A change of a file's permission bits as `chmod` accepts it: octal digits, or clauses such as
/// `u+x` and `go-w`.
///
/// ```
/// use msb_sandbox_model::ModeChange;
///
/// let change: ModeChange = "u+x".parse()?;
/// assert_eq!(change.apply_to(0o644, false), 0o744);
/// # Ok::<(), msb_sandbox_model::InvalidMode>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeChange(Change);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    Set(u32),
    Clauses(Vec<Clause>),
}

/// The text is not a [`ModeChange`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMode {
    /// The digits are none of 12 bits.
    #[error("'{text}' is not a mode: write octal digits such as 0755")]
    Octal {
        /// The refused text.
        text: String,
    },
    /// The text is neither digits nor clauses.
    #[error("'{text}' is not a mode: write one such as 0755 or u+x")]
    Clauses {
        /// The refused text.
        text: String,
    },
}

/// A clause of a symbolic mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Clause {
    /// The bits that the clause may change.
    mask: u32,
    operator: char,
    /// The bits that the clause names.
    bits: u32,
    /// True if the clause has `X`: execute for directories, and for files that somebody may execute
    /// already.
    has_conditional_execute: bool,
}

/// The letters for classes of users, with the bits of each class.
const WHO: [(char, u32); 4] = [('u', 0o4700), ('g', 0o2070), ('o', 0o1007), ('a', 0o7777)];
/// The bits that a clause without a class may change, as under the umask 022.
const UNSAID: u32 = 0o7777 & !0o022;
const PERMISSIONS: [(char, u32); 5] = [
    ('r', 0o444),
    ('w', 0o222),
    ('x', 0o111),
    ('s', 0o6000),
    ('t', 0o1000),
];

impl ModeChange {
    /// Returns the new permission bits of a file that has `mode`.
    pub fn apply_to(&self, mode: u32, is_directory: bool) -> u32 {
        match &self.0 {
            Change::Set(bits) => *bits,
            Change::Clauses(clauses) => clauses
                .iter()
                .fold(mode, |mode, clause| clause.apply_to(mode, is_directory)),
        }
    }
}

impl Clause {
    fn apply_to(self, mode: u32, is_directory: bool) -> u32 {
        let may_execute = is_directory || mode & 0o111 != 0;
        let execute = if self.has_conditional_execute && may_execute {
            0o111
        } else {
            0
        };
        let bits = (self.bits | execute) & self.mask;
        match self.operator {
            '+' => mode | bits,
            '-' => mode & !bits,
            // Like chmod, `=` keeps a directory's setuid and setgid bits.
            _ if is_directory => (mode & !(self.mask & 0o1777)) | bits,
            _ => (mode & !self.mask) | bits,
        }
    }
}

impl FromStr for ModeChange {
    type Err = InvalidMode;

    fn from_str(text: &str) -> Result<Self, InvalidMode> {
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return octal(text).map(|bits| Self(Change::Set(bits)));
        }
        let clauses: Option<_> = text.split(',').map(clause).collect();
        match clauses {
            Some(clauses) => Ok(Self(Change::Clauses(clauses))),
            None => Err(InvalidMode::Clauses {
                text: text.to_owned(),
            }),
        }
    }
}

/// Parses the 12 permission bits.
fn octal(text: &str) -> Result<u32, InvalidMode> {
    let bits = u32::from_str_radix(text, 8).ok();
    bits.filter(|bits| *bits <= 0o7777)
        .ok_or_else(|| InvalidMode::Octal {
            text: text.to_owned(),
        })
}

/// Parses `[ugoa]*[+-=][rwxXst]*`; `None` if the text has another form.
fn clause(text: &str) -> Option<Clause> {
    let operator_at = text.find(['+', '-', '='])?;
    let (who, rest) = text.split_at(operator_at);
    let mut rest = rest.chars();
    let operator = rest.next()?;
    let mut mask = 0;
    for letter in who.chars() {
        mask |= WHO.iter().find(|(name, _)| *name == letter)?.1;
    }
    let mut clause = Clause {
        mask: if who.is_empty() { UNSAID } else { mask },
        operator,
        bits: 0,
        has_conditional_execute: false,
    };
    for letter in rest {
        match PERMISSIONS.iter().find(|(name, _)| *name == letter) {
            Some((_, bits)) => clause.bits |= bits,
            None if letter == 'X' => clause.has_conditional_execute = true,
            None => return None,
        }
    }
    Some(clause)
}
