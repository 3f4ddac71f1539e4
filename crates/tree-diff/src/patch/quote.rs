//! Names in the lines of a patch.

/// The characters that a quoted path keeps, as git's `core.quotePath` chooses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// Printable ASCII (`core.quotePath=true`, git's default), for patches.
    Ascii,
    /// Every character that a terminal shows (`core.quotePath=false`), for people.
    Shown,
}

/// Returns a path as git prints it: unchanged if it has only characters that are kept, and neither a
/// quote nor a backslash; otherwise in double quotes with escapes in the manner of C.
#[must_use]
pub fn quoted(path: &[u8], quoting: Quoting) -> String {
    let mut text = String::with_capacity(path.len() + 2);
    let mut is_plain = true;
    for chunk in path.utf8_chunks() {
        for character in chunk.valid().chars() {
            let is_kept = match character {
                '"' | '\\' => false,
                ' '..='~' => true,
                _ => quoting == Quoting::Shown && !terminal_text::is_hidden(character),
            };
            is_plain &= is_kept;
            if is_kept {
                text.push(character);
            } else {
                push_bytes(character.encode_utf8(&mut [0; 4]).as_bytes(), &mut text);
            }
        }
        is_plain &= chunk.invalid().is_empty();
        push_bytes(chunk.invalid(), &mut text);
    }
    if is_plain {
        text
    } else {
        format!("\"{text}\"")
    }
}

/// Adds bytes as escapes.
fn push_bytes(bytes: &[u8], text: &mut String) {
    for &byte in bytes {
        let letter = match byte {
            0x07 => 'a',
            0x08 => 'b',
            b'\t' => 't',
            b'\n' => 'n',
            0x0b => 'v',
            0x0c => 'f',
            b'\r' => 'r',
            b'"' | b'\\' => char::from(byte),
            _ => {
                text.push_str(&format!("\\{byte:03o}"));
                continue;
            }
        };
        text.push('\\');
        text.push(letter);
    }
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
            Self::File { prefix, path } => {
                quoted(&[*prefix, *path].concat(), Quoting::Ascii).into_bytes()
            }
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
    text.extend_from_slice(quoted(&[b"a", path].concat(), Quoting::Ascii).as_bytes());
    text.push(b' ');
    text.extend_from_slice(quoted(&[b"b", path].concat(), Quoting::Ascii).as_bytes());
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_git_does() {
        for (name, ascii, shown) in [
            (&b"a b"[..], "a b", "a b"),
            (b"a\tb", r#""a\tb""#, r#""a\tb""#),
            (b"\"\\", r#""\"\\""#, r#""\"\\""#),
            ("é".as_bytes(), r#""\303\251""#, "é"),
            (b"\x01\x7f\xff", r#""\001\177\377""#, r#""\001\177\377""#),
            (
                "é\u{202e}\u{9b}".as_bytes(),
                r#""\303\251\342\200\256\302\233""#,
                r#""é\342\200\256\302\233""#,
            ),
        ] {
            assert_eq!(quoted(name, Quoting::Ascii), ascii);
            assert_eq!(quoted(name, Quoting::Shown), shown);
        }
    }
}
