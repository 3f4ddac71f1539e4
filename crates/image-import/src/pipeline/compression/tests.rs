use std::io::Write as _;

use oci_layers::Limits;

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("finished")
}

fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let (compression, source) = detect(bytes)?;
    let budget = Budget::new(&Limits::default());
    let source = io::BufReader::new(source);
    let mut reader = decompress(compression, source, &budget)?.ok_or(io::ErrorKind::Unsupported)?;
    let mut out = Vec::new();
    reader.read_to_end(&mut out)?;
    Ok(out)
}

#[test]
fn all_members_and_frames_are_one_stream() {
    let members = [gzip(b"one "), gzip(b""), gzip(b"two"), vec![0; 700]].concat();
    assert_eq!(read(&members).expect("gzip"), b"one two");
    let frame = |bytes: &[u8]| zstd::bulk::compress(bytes, 1).expect("compressed");
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let frames = [&skippable[..], &frame(b"one "), &frame(b"two"), &skippable].concat();
    assert_eq!(read(&frames).expect("zstd"), b"one two");
    assert_eq!(read(b"plain").expect("plain"), b"plain");
    assert_eq!(read(b"").expect("empty"), b"");
}

#[test]
fn five_thousand_empty_members_are_no_depth() {
    let members = gzip(b"").repeat(5000);
    assert_eq!(read(&members).expect("gzip"), b"");
}

#[test]
fn broken_streams_are_errors() {
    let whole = gzip(&[7; 100_000]);
    let garbage = [&whole[..], b"\0\0x"].concat();
    let mut wrong_sum = whole.clone();
    let crc = wrong_sum.len() - 8;
    wrong_sum[crc] ^= 1;
    for bytes in [
        &garbage[..],
        &wrong_sum,
        &whole[..whole.len() - 3],
        &whole[..20],
        &whole[..2],
    ] {
        assert!(read(bytes).is_err(), "{} bytes", bytes.len());
    }
    let frame = zstd::bulk::compress(&[7; 100_000], 1).expect("compressed");
    assert!(read(&frame[..frame.len() - 1]).is_err());
    // This frame header asks for a window of 2 GiB.
    let error = read(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00]);
    let error = error.expect_err("it is too large").to_string();
    assert!(error.contains("layer-window=128MiB"), "{error}");
    // The second frame asks for more than the first, which needs little.
    let small = zstd::bulk::compress(b"one", 1).expect("compressed");
    let error = read(&[&small[..], &[0x28, 0xb5, 0x2f, 0xfd, 0, 0x80, 1, 0, 0]].concat());
    let error = error.expect_err("it is too large").to_string();
    assert!(error.contains("a later frame"), "{error}");
}
