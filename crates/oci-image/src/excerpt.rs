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
        if character.is_control() || reorders(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Returns true for a character that makes a terminal show others out of order, or on another line.
fn reorders(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_cut_and_escaped() {
        assert_eq!(excerpt("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\nb");
        assert_eq!(
            excerpt(&"x".repeat(1000)).chars().count(),
            EXCERPT_CHARACTERS + 1
        );
    }
}
