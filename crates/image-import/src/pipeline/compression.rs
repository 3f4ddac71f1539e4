use std::fmt;
use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use oci_layers::{Exceeded, Limit};

use super::budget::Budget;
use super::window::Window;

/// Window sizes that the zstd library supports, as log2 of bytes.
const ZSTD_WINDOW_LOGS: std::ops::RangeInclusive<u32> = 10..=31;
/// `ZSTD_error_frameParameter_windowTooLarge` (zstd_errors.h).
const ZSTD_WINDOW_TOO_LARGE: usize = 16;
/// Number of bytes that are read to detect the compression. They include the longest zstd frame
/// header, which states the memory that the frame needs.
const MAGIC_BYTES: u64 = 18;

/// Compression of a blob, detected from its first bytes because media types can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// The blob is not compressed.
    None,
    /// One or more gzip members.
    Gzip,
    /// One or more zstd frames.
    Zstd,
    /// bzip2, which msb does not support.
    Bzip2,
    /// xz, which msb does not support.
    Xz,
}

impl Compression {
    /// Detects the compression from the first ten bytes; with fewer bytes some kinds are not
    /// detected.
    pub(crate) fn detect(bytes: &[u8]) -> Self {
        match bytes {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [
                b'B',
                b'Z',
                b'h',
                b'1'..=b'9',
                b'1',
                b'A',
                b'Y',
                b'&',
                b'S',
                b'Y',
                ..,
            ] => Self::Bzip2,
            _ => Self::None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None => "no",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        })
    }
}

/// Detects the compression of `source`. Returns it with a reader of the whole source.
pub(crate) fn detect<R: Read>(mut source: R) -> io::Result<(Compression, impl Read + use<R>)> {
    let mut magic = Vec::new();
    source.by_ref().take(MAGIC_BYTES).read_to_end(&mut magic)?;
    Ok((
        Compression::detect(&magic),
        io::Cursor::new(magic).chain(source),
    ))
}

/// Returns the decompressed content of `source`; `None` if msb does not support the compression.
/// Waits for the memory that the window of a zstd stream needs.
pub(crate) fn decompress<'a, R: BufRead + 'a>(
    compression: Compression,
    mut source: R,
    budget: &Budget,
) -> io::Result<Option<Box<dyn Read + 'a>>> {
    Ok(match compression {
        Compression::None => Some(Box::new(source)),
        Compression::Gzip => Some(Box::new(GzipMembers::new(source))),
        Compression::Zstd => {
            let window = budget.windows.take(source.fill_buf()?);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(source)?;
            let (least, most) = ZSTD_WINDOW_LOGS.into_inner();
            decoder.window_log_max(window.bytes.ilog2().clamp(least, most))?;
            let is_largest = window.is_largest(&budget.limits);
            Some(Box::new(ZstdFrames {
                decoder,
                exceeded: is_largest.then(|| budget.limits.exceeded(Limit::LayerWindow)),
                _window: window,
            }))
        }
        Compression::Bzip2 | Compression::Xz => None,
    })
}

/// All frames of a zstd stream as one. The first frame states the memory that they need; it exceeds
/// a limit if it asks for too much.
struct ZstdFrames<'a, R: BufRead> {
    decoder: zstd::stream::read::Decoder<'a, R>,
    exceeded: Option<Exceeded>,
    _window: Window,
}

impl<R: BufRead> Read for ZstdFrames<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let code = 0_usize.wrapping_sub(ZSTD_WINDOW_TOO_LARGE);
        self.decoder.read(buffer).map_err(|error| {
            if error.to_string() != zstd::zstd_safe::get_error_name(code) {
                return error;
            }
            match &self.exceeded {
                Some(exceeded) => io::Error::other(exceeded.clone()),
                None => io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a later frame has a larger window than the first",
                ),
            }
        })
    }
}

/// All members of a gzip stream as one, in constant space. Zeros after the last member are padding;
/// any other bytes are an error.
struct GzipMembers<R> {
    state: State<R>,
}

enum State<R> {
    Member(Box<GzDecoder<R>>),
    Between(R),
    End,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(source: R) -> Self {
        Self {
            state: State::Member(Box::new(GzDecoder::new(source))),
        }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::End) {
                State::End => return Ok(0),
                State::Member(mut decoder) => {
                    let count = decoder.read(buffer)?;
                    if count > 0 || buffer.is_empty() {
                        self.state = State::Member(decoder);
                        return Ok(count);
                    }
                    self.state = State::Between(decoder.into_inner());
                }
                State::Between(mut source) => match source.fill_buf()?.first() {
                    None => {}
                    Some(0) => skip_zeros(&mut source)?,
                    Some(_) => self.state = State::Member(Box::new(GzDecoder::new(source))),
                },
            }
        }
    }
}

fn skip_zeros(source: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = source.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        if bytes.iter().any(|&byte| byte != 0) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "garbage after the last member",
            ));
        }
        let count = bytes.len();
        source.consume(count);
    }
}

#[cfg(test)]
mod tests;
