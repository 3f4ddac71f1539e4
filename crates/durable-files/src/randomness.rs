use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns `LENGTH` bytes that nobody can guess.
///
/// # Errors
/// If the host's kernel returns too few.
pub fn random<const LENGTH: usize>() -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if filled == LENGTH {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
