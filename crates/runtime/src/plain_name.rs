/// Returns true if a name is plain enough for a host, a directory and a command line.
/// It has 1 to `length_max` letters, digits, `-`, `_` or `.`, and begins with a letter or digit.
pub fn is_plain_name(name: &str, length_max: usize) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    begins_well && name.len() <= length_max && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_not_too_long() {
        for name in ["a", "0", "My-data_1.x", "abc"] {
            assert!(is_plain_name(name, 11), "{name}");
        }
        for name in ["", ".a", "-a", "_a", "a/b", "a b", "ä", "aä", "..", "abcd"] {
            assert!(!is_plain_name(name, 3), "{name}");
        }
    }
}
