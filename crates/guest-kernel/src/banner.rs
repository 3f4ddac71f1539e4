use memchr::memmem;

/// The start of `linux_banner` (init/version-timestamp.c).
const BANNER_START: &[u8] = b"Linux version ";

/// `__NEW_UTS_LEN` (uapi/linux/utsname.h).
const RELEASE_MAX_BYTES: usize = 64;

/// Returns the `uname -r` of a kernel image, from its banner. `None` if there is no valid banner.
pub(crate) fn release(image: &[u8]) -> Option<String> {
    memmem::find_iter(image, BANNER_START)
        .find_map(|offset| first_word(image.get(offset + BANNER_START.len()..)?))
}

/// Returns the printable word at the start of `bytes`. `None` unless it starts with a digit, as a
/// release does, and is short enough.
fn first_word(bytes: &[u8]) -> Option<String> {
    let window = bytes.get(..RELEASE_MAX_BYTES + 1).unwrap_or(bytes);
    let word = window.split(|byte| !byte.is_ascii_graphic()).next()?;
    let is_release =
        word.len() <= RELEASE_MAX_BYTES && word.first().is_some_and(u8::is_ascii_digit);
    is_release.then(|| String::from_utf8_lossy(word).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_release_from_the_first_banner_that_has_one() {
        let image = b"\0Linux version %s\0Linux version 6.12.91-msb (root@host) #1 SMP\n\0";
        assert_eq!(release(image).as_deref(), Some("6.12.91-msb"));
    }

    #[test]
    fn finds_none_in_other_bytes() {
        assert_eq!(release(b""), None);
        assert_eq!(release(b"Linux version "), None);
        let endless = [b"Linux version ".as_slice(), &[b'6'; 1000]].concat();
        assert_eq!(release(&endless), None);
    }
}
