use std::io::Read;

use super::header::text;
use super::stream::Stream;
use crate::error::LayerError;
use crate::limits::{Limit, Limits};

/// Reads the body of an extended header, bounded, without its padding.
pub(crate) fn body<R: Read>(
    stream: &mut Stream<R>,
    size_bytes: u64,
    limits: &Limits,
) -> Result<Vec<u8>, LayerError> {
    let checked = limits.check(Limit::EntryRecord, size_bytes);
    checked.map_err(|source| stream.beyond(source))?;
    // What is there is read, not what is claimed.
    let mut body = Vec::new();
    let read = stream.by_ref().take(size_bytes).read_to_end(&mut body);
    match (read, stream.take_failure()) {
        (_, Some(failure)) => Err(failure),
        (Ok(_), None) => Ok(body),
        (Err(_), None) => Err(stream.truncated()),
    }
}

/// Reads a GNU long name or long link: a string that a NUL ends.
pub(crate) fn long_name<R: Read>(
    stream: &mut Stream<R>,
    size_bytes: u64,
    limits: &Limits,
) -> Result<Vec<u8>, LayerError> {
    let mut name = body(stream, size_bytes, limits)?;
    let length = text(&name).len();
    name.truncate(length);
    Ok(name)
}
