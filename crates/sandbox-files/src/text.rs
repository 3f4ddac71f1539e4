use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An argument, a variable or a path of a guest: any bytes, usually UTF-8.
///
/// In JSON it is a string, or `{"bytes": "BASE64"}` if it is not UTF-8.
///
/// ```
/// use msb_sandbox_files::Text;
///
/// assert_eq!(Text::from("a").as_bytes(), b"a");
/// assert_eq!(Text::from(vec![0xff]).to_string(), "\u{fffd}");
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Vec<u8>);

impl Text {
    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the text; `None` if it is not UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Returns the text as a path.
    pub fn to_path(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(&self.0))
    }

    /// Returns the text on one line, as git prints a path with `core.quotePath=false`: in double quotes
    /// with escapes in the manner of C if it is not UTF-8, or has a quote, a backslash or a character that
    /// a terminal acts on or hides; unchanged otherwise.
    ///
    /// ```
    /// use msb_sandbox_files::Text;
    ///
    /// assert_eq!(Text::from("déjà").quoted(), "déjà");
    /// assert_eq!(Text::from("a\u{202e}b\n").quoted(), r#""a\342\200\256b\n""#);
    /// ```
    pub fn quoted(&self) -> String {
        tree_diff::quoted(&self.0, tree_diff::Quoting::Shown)
    }

    /// Returns a copy of the bytes.
    pub fn to_bytes(&self) -> Bytes {
        Bytes::copy_from_slice(&self.0)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<&Path> for Text {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl From<PathBuf> for Text {
    fn from(path: PathBuf) -> Self {
        Self(path.into_os_string().into_vec())
    }
}

impl From<OsString> for Text {
    fn from(text: OsString) -> Self {
        Self(text.into_vec())
    }
}

impl From<&OsStr> for Text {
    fn from(text: &OsStr) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

/// The two forms in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "text is expected")]
enum Form {
    Text(String),
    Bytes { bytes: String },
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self.as_str() {
            Some(text) => Form::Text(text.to_owned()),
            None => Form::Bytes {
                bytes: STANDARD.encode(&self.0),
            },
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(Self::from(text)),
            Form::Bytes { bytes } => {
                let bytes = STANDARD.decode(bytes).map_err(serde::de::Error::custom)?;
                Ok(Self(bytes))
            }
        }
    }
}
