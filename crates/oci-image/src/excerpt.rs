/// Most characters of untrusted text in a message.
const EXCERPT_CHARACTERS: usize = 160;

/// Returns the beginning of an untrusted text, on one line and safe for a terminal.
pub fn excerpt(text: &str) -> String {
    let mut shown = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == EXCERPT_CHARACTERS {
            shown.push('…');
            break;
        }
        if terminal_text::is_hidden(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_cut_and_escaped() {
        assert_eq!(
            excerpt("a\u{1b}[31m\nb\u{202e}"),
            "a\\u{1b}[31m\\nb\\u{202e}"
        );
        assert_eq!(
            excerpt(&"x".repeat(1000)).chars().count(),
            EXCERPT_CHARACTERS + 1
        );
    }
}
