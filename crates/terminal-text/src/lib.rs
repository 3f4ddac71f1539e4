//! Text of foreign origin as a terminal may show it, and as JSON may carry it.
//!
//! A terminal acts on control characters, and it shows some others not at all or out of order: what a
//! reader sees is then not what a program gets. [`is_hidden`] is the one list of such characters.
//! [`escaped`] shows them in a line of msb's own, [`Escaper`] in the lines of a file or of a
//! program, and [`escaped_json`] keeps JSON's meaning.
//!
//! ```
//! use terminal_text::{Escaper, escaped};
//!
//! assert_eq!(escaped("a\u{202e}b\n"), r"a\u{202e}b\n");
//! let mut escaper = Escaper::default();
//! let mut shown = escaper.escape(b"curl evil.test #\r+echo\tok\n");
//! shown.extend(escaper.finish());
//! assert_eq!(shown, b"curl evil.test #\\r+echo\tok\n");
//! assert!(escaper.has_escaped());
//! ```

#![forbid(unsafe_code)]

mod escaper;

use std::borrow::Cow;

pub use escaper::Escaper;

/// Returns true for a character that a terminal acts on, shows as nothing, or lets change the order of
/// others.
///
/// These are the control characters (C0, DEL and C1), line and paragraph separators, the controls of
/// bidirectional text, characters of zero width, fillers that look like a space, tags, and variation
/// selectors, except U+FE0F, which chooses the coloured form of a character.
#[must_use]
pub const fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0e}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns `text` on one line: hidden characters are escaped as `\n`, `\t`, `\r` or `\u{..}`.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    escaped_where(text, is_hidden)
}

/// Returns lines of text with the hidden characters of each line escaped. Newlines and tabs stay.
#[must_use]
pub fn escaped_lines(text: &str) -> Cow<'_, str> {
    escaped_where(text, is_hidden_in_line)
}

/// Returns JSON that means the same and has no hidden character: outside of strings JSON has none, and
/// in strings they are written as `\u....`. Newlines stay, because strings have none.
#[must_use]
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    json_where(json, |character| is_hidden(character) && character != '\n')
}

/// Returns JSON as [`escaped_json`] does, in ASCII: all other characters are written as `\u....`.
#[must_use]
pub fn ascii_json(json: &str) -> Cow<'_, str> {
    json_where(json, |character| {
        !character.is_ascii() || (is_hidden(character) && character != '\n')
    })
}

/// Returns JSON that means the same, without the characters that are to be escaped.
fn json_where(json: &str, is_escaped: impl Fn(char) -> bool + Copy) -> Cow<'_, str> {
    if !json.contains(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_escaped(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            text.push(character);
        }
    }
    Cow::Owned(text)
}

/// Returns true for a hidden character that lines of text do not need.
const fn is_hidden_in_line(character: char) -> bool {
    is_hidden(character) && !matches!(character, '\n' | '\t')
}

fn escaped_where(text: &str, is_escaped: impl Fn(char) -> bool + Copy) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_escaped(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_shown_otherwise_than_it_is_counts_as_hidden() {
        let hidden = "\0\u{7}\u{1b}\u{7f}\u{80}\u{9b}\u{ad}\u{200b}\u{200e}\u{2028}\u{202a}\u{202e}\
                      \u{2066}\u{2069}\u{feff}\u{3164}\u{e0041}\u{e0100}";
        for character in hidden.chars() {
            assert!(is_hidden(character), "{character:?}");
        }
        for character in "a ~é\u{a0}ß漢字🦀\u{fe0f}ا".chars() {
            assert!(!is_hidden(character), "{character:?}");
        }
    }

    #[test]
    fn a_line_has_no_end_and_lines_keep_theirs() {
        assert_eq!(
            escaped("\u{1b}[31mno\nre\tally"),
            "\\u{1b}[31mno\\nre\\tally"
        );
        assert_eq!(escaped_lines("a\tb\r\nc\u{9b}"), "a\tb\\r\nc\\u{9b}");
        assert!(matches!(escaped("é"), Cow::Borrowed("é")));
    }

    #[test]
    fn json_stays_valid_and_means_the_same() {
        let value = serde_json::json!({"path": "a\u{7f}\u{9b}\u{202e}\u{e0041}\n\u{1b}é"});
        let json = serde_json::to_string_pretty(&value).expect("JSON");
        let shown = escaped_json(&json);
        assert!(
            shown.contains(r"a\u007f\u009b\u202e\udb40\udc41\n\u001bé"),
            "{shown}"
        );
        assert!(!shown.contains(|character| is_hidden(character) && character != '\n'));
        let read: serde_json::Value = serde_json::from_str(&shown).expect("valid");
        assert_eq!(read, value);
        assert!(matches!(escaped_json("{\n}"), Cow::Borrowed(_)));
        let ascii = ascii_json(&json);
        assert!(
            ascii.is_ascii() && ascii.contains(r"\u001b\u00e9"),
            "{ascii}"
        );
        let read: serde_json::Value = serde_json::from_str(&ascii).expect("valid");
        assert_eq!(read, value);
    }
}
