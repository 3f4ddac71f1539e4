//! Compressed clusters and grains, each of which is decompressed into a buffer of known length.

use std::io;

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

/// log2 of the largest window that a zstd frame may ask for, in bytes: the default of encoders for
/// content whose length they do not know, and four times the largest cluster.
const WINDOW_LOG_MAX: u32 = 23;

/// Decompresses a deflate stream, with the header of zlib if it `has_header`. Bytes behind its end are
/// ignored; a stream that is shorter than `output` leaves zeros.
pub(crate) fn inflate(input: &[u8], output: &mut [u8], has_header: bool) -> io::Result<()> {
    let mut stream = Decompress::new(has_header);
    let status = stream.decompress(input, output, FlushDecompress::Finish);
    let is_full = stream.total_out() == crate::bytes::length_of(output);
    match status.map_err(io::Error::other)? {
        Status::StreamEnd => Ok(()),
        _ if is_full => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Decompresses zstd frames until `output` is full. Bytes behind are ignored.
pub(crate) fn unzstd(input: &[u8], output: &mut [u8]) -> io::Result<()> {
    let mut decoder = Decoder::new()?;
    decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
    let length = output.len();
    let mut input = InBuffer::around(input);
    let mut output = OutBuffer::around(output);
    while output.pos() < length {
        let (read, written) = (input.pos, output.pos());
        decoder.run(&mut input, &mut output)?;
        if (input.pos, output.pos()) == (read, written) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn streams_are_decompressed_and_truncated_ones_are_not() {
        let content: Vec<u8> = (0..=250_u8).cycle().take(40_000).collect();
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&content).expect("compressed");
        let mut deflated = encoder.finish().expect("compressed");
        let mut zstd = zstd::bulk::compress(&content, 3).expect("compressed");
        let cut = (deflated.len() / 2, zstd.len() / 2);
        let mut output = vec![0; content.len()];
        assert!(inflate(&deflated[..cut.0], &mut output, false).is_err());
        assert!(unzstd(&zstd[..cut.1], &mut output).is_err());
        deflated.extend([7; 100]);
        zstd.extend([7; 100]);
        inflate(&deflated, &mut output, false).expect("decompressed");
        assert!(output == content);
        output.fill(0);
        unzstd(&zstd, &mut output).expect("decompressed");
        assert!(output == content);
    }
}
