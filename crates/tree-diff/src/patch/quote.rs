//! Names in the lines of a patch.

/// Returns a path as git prints it: in double quotes with escapes in the manner of C if it has bytes
/// that are not printable ASCII, or a quote or a backslash; unchanged otherwise.
#[must_use]
pub fn quoted(path: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if path.iter().all(is_plain) {
        return path.to_vec();
    }
    let mut text = vec![b'"'];
    for &byte in path {
        let letter = match byte {
            0x07 => b'a',
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0b => b'v',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => byte,
            b' '..=b'~' => {
                text.push(byte);
                continue;
            }
            _ => {
                text.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                continue;
            }
        };
        text.extend_from_slice(&[b'\\', letter]);
    }
    text.push(b'"');
    text
}

/// A file in a line of a patch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Label<'a> {
    /// A file that does not exist.
    Nothing,
    File {
        prefix: &'a [u8],
        path: &'a [u8],
    },
}

impl Label<'_> {
    fn name(&self) -> Vec<u8> {
        match self {
            Self::Nothing => b"/dev/null".to_vec(),
            Self::File { prefix, path } => quoted(&[*prefix, *path].concat()),
        }
    }

    /// Adds a line such as `--- a/etc/motd`.
    pub(super) fn push(&self, sign: &[u8], text: &mut Vec<u8>) {
        let name = self.name();
        text.extend_from_slice(sign);
        text.push(b' ');
        text.extend_from_slice(&name);
        // A tab ends a name with spaces, as git and GNU diff have it.
        if name.contains(&b' ') {
            text.push(b'\t');
        }
        text.push(b'\n');
    }

    /// Adds the line of two files that are not text.
    pub(super) fn push_binary(&self, other: &Self, text: &mut Vec<u8>) {
        for part in [
            &b"Binary files "[..],
            &self.name(),
            b" and ",
            &other.name(),
            b" differ\n",
        ] {
            text.extend_from_slice(part);
        }
    }
}

/// Adds the first line of a file's change.
pub(super) fn push_header(path: &[u8], text: &mut Vec<u8>) {
    text.extend_from_slice(b"diff --git ");
    text.extend_from_slice(&quoted(&[b"a", path].concat()));
    text.push(b' ');
    text.extend_from_slice(&quoted(&[b"b", path].concat()));
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_git_does() {
        for (name, expected) in [
            (&b"a b"[..], &b"a b"[..]),
            (b"a\tb", b"\"a\\tb\""),
            (b"\"\\", b"\"\\\"\\\\\""),
            ("é".as_bytes(), b"\"\\303\\251\""),
            (b"\x01\x7f", b"\"\\001\\177\""),
        ] {
            assert_eq!(quoted(name), expected, "{}", name.escape_ascii());
        }
    }
}
