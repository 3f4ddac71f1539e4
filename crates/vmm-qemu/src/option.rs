use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

/// A QEMU option value: `first,key=value,...`.
pub(crate) struct OptionValue(OsString);

impl OptionValue {
    pub(crate) fn new(first: &str) -> Self {
        Self(first.into())
    }

    /// Adds `,key=value`.
    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        self.push(key, OsStr::new(value));
        self
    }

    /// Adds `,key=path`. The path may hold any bytes.
    pub(crate) fn with_path(mut self, key: &str, path: &Path) -> Self {
        self.push(key, path.as_os_str());
        self
    }

    pub(crate) fn into_argument(self) -> OsString {
        self.0
    }

    /// Adds a key and its value. QEMU reads `,,` as a comma inside the value.
    fn push(&mut self, key: &str, value: &OsStr) {
        self.0.push(format!(",{key}="));
        let commas_doubled = value
            .as_bytes()
            .split(|byte| *byte == b',')
            .collect::<Vec<_>>();
        self.0
            .push(OsString::from_vec(commas_doubled.join(b",,".as_slice())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_add_keys() {
        let path = Path::new(OsStr::from_bytes(b"/a,readonly=off,/\xff"));
        let option = OptionValue::new("file")
            .with("id", "console")
            .with_path("path", path);
        assert_eq!(
            option.into_argument().as_bytes(),
            b"file,id=console,path=/a,,readonly=off,,/\xff"
        );
    }
}
