use std::io::Read;

use super::header::text;
use super::stream::Stream;
use crate::error::LayerError;

/// Reads the body of an extended header, bounded, without its padding.
pub(crate) fn body<R: Read>(
    stream: &mut Stream<R>,
    size_bytes: u64,
    limit_bytes: u64,
) -> Result<Vec<u8>, LayerError> {
    let length = usize::try_from(size_bytes).ok();
    let (true, Some(length)) = (size_bytes <= limit_bytes, length) else {
        return Err(LayerError::Limit {
            offset_bytes: stream.offset_bytes(),
            what: "bytes in an extended header",
            limit: limit_bytes,
        });
    };
    let mut body = vec![0; length];
    stream.exact(&mut body)?;
    Ok(body)
}

/// Reads a GNU long name or long link: a string that a NUL ends.
pub(crate) fn long_name<R: Read>(
    stream: &mut Stream<R>,
    size_bytes: u64,
    limit_bytes: u64,
) -> Result<Vec<u8>, LayerError> {
    let mut name = body(stream, size_bytes, limit_bytes)?;
    let length = text(&name).len();
    name.truncate(length);
    Ok(name)
}
