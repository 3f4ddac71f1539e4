/// The start of the names of unfinished files. Random digits follow.
const UNFINISHED: &[u8] = b".msb-apply-";
/// Number of random hexadecimal digits in the name of an unfinished file.
pub(super) const UNFINISHED_DIGITS: usize = 16;

/// Returns true for the name of an unfinished file, which a process that was killed may have left.
pub(super) fn is_unfinished(name: &[u8]) -> bool {
    name.strip_prefix(UNFINISHED).is_some_and(|rest| {
        rest.len() == UNFINISHED_DIGITS && rest.iter().all(u8::is_ascii_hexdigit)
    })
}

/// Returns the name of an unfinished file with these digits.
pub(super) fn unfinished_name(digits: &str) -> Vec<u8> {
    [UNFINISHED, digits.as_bytes()].concat()
}
