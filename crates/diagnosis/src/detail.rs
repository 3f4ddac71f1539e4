use std::path::{Path, PathBuf};

/// A named value of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// A name, a path or another text.
    Text(String),
    /// A number, in the unit that its name states.
    Number(u64),
    /// Lines that a machine or its guest printed. They may contain control characters.
    Lines(Vec<String>),
}

impl From<String> for Detail {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for Detail {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&str> for Detail {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&Path> for Detail {
    fn from(path: &Path) -> Self {
        Self::Text(path.display().to_string())
    }
}

impl From<&PathBuf> for Detail {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

/// Converts a path in a sandbox.
impl From<&Vec<u8>> for Detail {
    fn from(path: &Vec<u8>) -> Self {
        Self::Text(String::from_utf8_lossy(path).into_owned())
    }
}

impl From<u16> for Detail {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Detail {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Detail {
    fn from(number: usize) -> Self {
        Self::Number(u64::try_from(number).unwrap_or(u64::MAX))
    }
}
