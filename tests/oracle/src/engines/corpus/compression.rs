//! Compressed layers with odd framing.

use testkit::TarBuilder;

use super::{Case, file};
use test_support::oci_layout::{gzip, skippable, zstd};

pub(super) fn cases() -> Vec<Case> {
    let tar = TarBuilder::archive([file("a"), file("b")]);
    let (one, two) = tar.split_at(700);
    let whole = gzip(&tar);
    let changed = |place: usize| {
        let mut bytes = whole.clone();
        let place = if place < 100 {
            place
        } else {
            bytes.len() + 92 - place
        };
        bytes[place] ^= 0x55;
        bytes
    };
    let frame = zstd(&tar);
    let list: Vec<(&str, Vec<u8>)> = vec![
        ("gzip/one", whole.clone()),
        ("gzip/members", [gzip(one), gzip(two)].concat()),
        (
            "gzip/empty-member",
            [gzip(&[]), gzip(&tar), gzip(&[])].concat(),
        ),
        (
            "gzip/many-empty",
            [gzip(&[]).repeat(5000), gzip(&tar)].concat(),
        ),
        ("gzip/zeros-after", [&whole[..], &[0; 512]].concat()),
        ("gzip/garbage-after", [&whole[..], b"garbage"].concat()),
        ("gzip/tar-after", [&whole[..], &tar[..]].concat()),
        ("gzip/no-trailer", whole[..whole.len() - 8].to_vec()),
        ("gzip/half-trailer", whole[..whole.len() - 3].to_vec()),
        ("gzip/cut", whole[..whole.len() / 2].to_vec()),
        ("gzip/header-only", whole[..10].to_vec()),
        ("gzip/bad-crc", changed(100)),
        ("gzip/bad-length", changed(96)),
        ("gzip/bad-method", changed(2)),
        ("gzip/flags", changed(3)),
        ("gzip/bad-block", changed(12)),
        ("gzip/nested", gzip(&whole)),
        ("gzip/empty", gzip(&[])),
        ("zstd/one", frame.clone()),
        ("zstd/frames", [zstd(one), zstd(two)].concat()),
        (
            "zstd/skippable-first",
            [skippable(b"toc"), frame.clone()].concat(),
        ),
        (
            "zstd/skippable-last",
            [frame.clone(), skippable(b"toc")].concat(),
        ),
        ("zstd/skippable-only", skippable(b"toc")),
        ("zstd/cut", frame[..frame.len() / 2].to_vec()),
        ("zstd/garbage-after", [&frame[..], b"garbage"].concat()),
        ("zstd/zeros-after", [&frame[..], &[0; 512]].concat()),
        ("zstd/empty", zstd(&[])),
        ("zstd/window-31", window(31, &tar)),
        ("zstd/window-27", window(27, &tar)),
        ("zstd/window-20", window(20, &tar)),
        ("empty", Vec::new()),
        ("bzip2-magic", b"BZh91AY&SY".to_vec()),
        ("xz-magic", b"\xfd7zXZ\0".to_vec()),
        ("gzip-magic", b"\x1f\x8b".to_vec()),
    ];
    list.into_iter()
        .map(|(name, blob)| Case::new(format!("compression/{name}"), vec![blob]))
        .collect()
}

/// Returns a frame with a window of `2^log` bytes (RFC 8878, 3.1.1.1.2) and raw blocks.
fn window(log: u8, tar: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3];
    let length = u32::try_from(tar.len()).unwrap_or(0);
    frame.extend(&(length << 3 | 1).to_le_bytes()[..3]);
    frame.extend(tar);
    frame
}
