use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// So many bytes that nobody can guess.
///
/// # Errors
/// When the host's kernel gives none.
pub(crate) fn random<const LENGTH: usize>() -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty())?;
    match filled == LENGTH {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
