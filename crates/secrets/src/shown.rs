//! Texts of users in messages.

/// Most characters of a text that a message shows.
const SHOWN_MAX_CHARS: usize = 80;

/// Returns a text as a message may show it: on one line, shortened, and without the user's part of a URL,
/// in which people write passwords.
pub(crate) fn shown(text: &str) -> String {
    let (user, rest) = match text.rsplit_once('@') {
        Some((_, rest)) => ("…@", rest),
        None => ("", text),
    };
    let short: String = rest.chars().take(SHOWN_MAX_CHARS).collect();
    let more = if short.len() < rest.len() { "…" } else { "" };
    format!("{user}{}{more}", terminal_text::escaped(&short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_short_and_has_no_password() {
        assert_eq!(shown("api.example.com"), "api.example.com");
        assert_eq!(shown("me:hunter22@example.com"), "…@example.com");
        assert_eq!(shown("a\nb"), "a\\nb");
        assert_eq!(shown(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
    }
}
