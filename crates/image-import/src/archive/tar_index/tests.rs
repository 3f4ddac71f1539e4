use std::error::Error as _;
use std::io::Write as _;

use tar::EntryType;
use testkit::{TarBuilder, TarEntry};

use super::*;

fn entry(builder: &mut tar::Builder<Vec<u8>>, kind: EntryType, name: &str, body: &str) {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    if kind.is_file() {
        header.set_size(body.len() as u64);
        builder
            .append_data(&mut header, name, body.as_bytes())
            .expect("appended");
    } else {
        header.set_size(0);
        builder
            .append_link(&mut header, name, body)
            .expect("appended");
    }
}

fn index(bytes: &[u8]) -> Result<TarIndex, ArchiveError> {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    TarIndex::read(Path::new("x.tar"), &file, &Limits::default())
}

fn sample() -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    entry(
        &mut builder,
        EntryType::Symlink,
        "a/layer.tar",
        "../b/layer.tar",
    );
    entry(&mut builder, EntryType::Regular, "./b/layer.tar", "content");
    entry(&mut builder, EntryType::Link, "c", "b/layer.tar");
    entry(&mut builder, EntryType::Symlink, "loop", "loop");
    entry(&mut builder, EntryType::Symlink, "out", "../../etc/passwd");
    entry(&mut builder, EntryType::Regular, &"d/".repeat(150), "");
    entry(
        &mut builder,
        EntryType::Regular,
        &format!("{}f", "e/".repeat(150)),
        "long",
    );
    builder.into_inner().expect("finished")
}

#[test]
fn names_and_links_lead_to_files() {
    let index = index(&sample()).expect("an index");
    let place = index.find("b/layer.tar").expect("a file");
    assert_eq!(place.size_bytes, 7);
    assert_eq!(index.find("a/layer.tar"), Some(place));
    assert_eq!(index.find("c"), Some(place));
    assert!(index.find(&format!("{}f", "e/".repeat(150))).is_some());
    for name in ["loop", "out", "missing", "", "../b/layer.tar"] {
        assert_eq!(index.find(name), None, "{name}");
    }
}

#[test]
fn cuts_and_other_files_are_told() {
    let whole = sample();
    for length in [1, 100, 511, 513, 1024, 1030] {
        let error = index(&whole[..length]).err();
        let told = match error {
            Some(ArchiveError::Truncated { .. }) => length > 512,
            Some(ArchiveError::Unknown { .. }) => length < 512,
            Some(_) => false,
            None => length % 512 == 0,
        };
        assert!(told, "{length}");
    }
    assert!(matches!(
        index(&[b'x'; 4096]),
        Err(ArchiveError::Unknown { .. })
    ));
    let mut huge = whole;
    huge[512 + 124..512 + 136].copy_from_slice(b"77777777777\0");
    assert!(index(&huge).is_err());
}

/// Returns the reason for which an archive is refused; `None` if it is accepted.
fn refusal(bytes: &[u8]) -> Option<String> {
    let error = index(bytes).err()?;
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        reason.push_str(&format!(": {error}"));
        cause = error.source();
    }
    Some(reason)
}

/// Checks that each archive is refused for its reason.
fn assert_refused(cases: &[(Vec<u8>, &str)]) {
    let reasons = cases.iter().map(|(tar, expected)| (expected, refusal(tar)));
    let others: Vec<_> = reasons
        .filter(|(expected, reason)| {
            !reason
                .as_ref()
                .is_some_and(|reason| reason.contains(**expected))
        })
        .collect();
    assert!(others.is_empty(), "{others:#?}");
}

/// Returns a header with one field changed and a correct checksum.
fn with_field(entry: &TarEntry, offset: usize, field: &[u8]) -> Vec<u8> {
    let mut block = entry.header(0);
    block[offset..offset + field.len()].copy_from_slice(field);
    TarBuilder::seal(&mut block);
    TarBuilder::default().block(&block).unfinished()
}

fn long_name(name: &[u8]) -> TarEntry {
    let mut long = TarEntry::new(b'L', "long");
    long.content = name.to_vec();
    long
}

#[test]
fn numbers_and_records_are_read_as_a_layers_are() {
    let file = || TarEntry::file("a", "12");
    let malformed = {
        let mut header = TarEntry::new(b'x', "pax");
        header.content = b"9 path=b\n7 path=c\n".to_vec();
        TarBuilder::archive([header, file()])
    };
    let cases = [
        (
            TarBuilder::archive([file().record("size", "2x")]),
            "'size' has an invalid value",
        ),
        (
            TarBuilder::archive([file().record("size", "-2")]),
            "'size' has an invalid value",
        ),
        (
            TarBuilder::archive([file().record("mtime", "soon")]),
            "'mtime' has an invalid value",
        ),
        (
            TarBuilder::archive([file().record("uid", "root")]),
            "'uid' has an invalid value",
        ),
        (
            TarBuilder::archive([file().record("path", "a\0b")]),
            "'path' has an invalid value",
        ),
        (malformed, "a PAX record is malformed"),
        // 2^64: a reader that does not check keeps only its lower 64 bits, which are 0.
        (
            with_field(&file(), 124, b"\x80\0\0\x01\0\0\0\0\0\0\0\0"),
            "its size is not a number in range",
        ),
        (
            with_field(&file(), 108, b"99"),
            "its uid is not a number in range",
        ),
    ];
    assert_refused(&cases);
}

#[test]
fn names_and_targets_that_are_not_utf_8_are_refused() {
    let name = b"caf\xe9";
    let archives = [
        vec![TarEntry::file(name, "1")],
        vec![TarEntry::directory(name)],
        vec![TarEntry::file("a", "1").record("path", name)],
        vec![long_name(name), TarEntry::file("a", "1")],
        vec![TarEntry::symlink("a", name)],
        vec![TarEntry::hardlink("a", "b").record("linkpath", name)],
    ];
    let cases = archives.map(|entries| (TarBuilder::archive(entries), r"'caf\xe9' at byte"));
    assert_refused(&cases);
    assert!(refusal(&TarBuilder::archive([TarEntry::file("caf\u{e9}", "1")])).is_none());
}

#[test]
fn types_ends_and_long_paths_are_judged_as_a_layers_are() {
    let file = || TarEntry::file("a", "1");
    let lone = [&[0; 512][..], &TarBuilder::archive([file()])].concat();
    let mut sparse = TarBuilder::default();
    sparse.entry(
        &file()
            .record("GNU.sparse.map", "0,1")
            .record("GNU.sparse.size", "9"),
    );
    let cases = [
        (
            TarBuilder::archive([TarEntry::new(b'D', "a")]),
            "its type 'D' is unknown",
        ),
        (
            TarBuilder::archive([TarEntry::new(b'7', "a")]),
            "its type '7' is unknown",
        ),
        (lone, "it follows a single zero block"),
        (
            TarBuilder::archive([TarEntry::file("x/".repeat(10_000) + "f", "")]),
            "limit entry-path=16KiB",
        ),
        (sparse.finish(), "'a' is a sparse file"),
    ];
    assert_refused(&cases);
}

#[test]
fn extended_headers_go_before_each_other_as_in_a_layer() {
    let entry = || TarEntry::file("header", "1").record("path", "pax");
    let found = |entries: Vec<TarEntry>, name: &str| {
        let index = index(&TarBuilder::archive(entries)).expect("an index");
        assert_eq!(index.entries.len(), 1);
        index.find(name).is_some()
    };
    assert!(found(vec![long_name(b"gnu\0"), entry()], "gnu"));
    assert!(found(vec![long_name(b"\0"), entry()], "pax"));
    // A global header discards the extensions of the headers before it.
    let global = TarEntry::new(b'g', "global");
    assert!(found(vec![long_name(b"gnu\0"), global, entry()], "pax"));
}

#[test]
fn a_size_that_only_a_record_has_frames_the_content() {
    let mut tar = TarBuilder::archive([
        TarEntry::file("a", [b'x'; 700]).record("size", "700"),
        TarEntry::file("b", "1"),
    ]);
    let header: &mut [u8; 512] = (&mut tar[1024..1536]).try_into().expect("a block");
    header[124..136].copy_from_slice(b"00000000000\0");
    TarBuilder::seal(header);
    let index = index(&tar).expect("an index");
    let size_bytes = |name| index.find(name).map(|place| place.size_bytes);
    assert_eq!((size_bytes("a"), size_bytes("b")), (Some(700), Some(1)));
}
