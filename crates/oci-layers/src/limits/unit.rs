/// The unit of a limit's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number without a suffix.
    Count,
    /// Bytes, with the suffixes `KiB`, `MiB`, `GiB` and `TiB`.
    Bytes,
    /// Seconds, with the suffixes `s`, `m`, `h` and `d`.
    Seconds,
}

const BYTES: [(&str, u64); 5] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];
const SECONDS: [(&str, u64); 4] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];
const ONES: [(&str, u64); 1] = [("", 1)];

impl Unit {
    const fn suffixes(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::Count => &ONES,
            Self::Bytes => &BYTES,
            Self::Seconds => &SECONDS,
        }
    }

    /// Formats a value with the largest suffix that divides it exactly.
    pub fn show(self, value: u64) -> String {
        let divides = |factor: u64| value != 0 && value.is_multiple_of(factor);
        let suffixes = self.suffixes();
        let found = suffixes.iter().find(|(_, factor)| divides(*factor));
        let (suffix, factor) = found.or(suffixes.last()).copied().unwrap_or(("", 1));
        format!("{}{suffix}", value / factor)
    }

    /// Parses a value. A number without a suffix is in bytes or seconds; `K`, `KB` and `kib` are
    /// `KiB`. `None` if the value is invalid or exceeds 64 bits.
    pub(super) fn parse(self, text: &str) -> Option<u64> {
        let digits = text.find(|c: char| !c.is_ascii_digit());
        let (digits, suffix) = text.split_at(digits.unwrap_or(text.len()));
        let number: u64 = digits.parse().ok()?;
        if suffix.is_empty() {
            return Some(number);
        }
        let suffix = suffix.to_ascii_lowercase();
        let is_meant = |name: &str| {
            let name = name.to_ascii_lowercase();
            let letter = name.get(..1).unwrap_or_default();
            suffix == name || suffix == letter || suffix == format!("{letter}b")
        };
        let mut suffixes = self.suffixes().iter();
        let (_, factor) = suffixes.find(|(name, _)| is_meant(name))?;
        number.checked_mul(*factor)
    }
}
