//! Single archives: names, types, numbers, and refusals.

use fstree::{FileKind, Timestamp};
use oci_layers::{InvalidEntry, LayerError, Limit, Limits, NoteReason, read_layer};
use testkit::{TarBuilder, TarEntry};

use crate::fixture::{MemorySink, image_of, message, names, read, read_entries};

fn refusal(entries: impl IntoIterator<Item = TarEntry>) -> String {
    let error = read(&TarBuilder::archive(entries)).expect_err("it is to be refused");
    message(&error)
}

#[test]
fn names_are_normalised_and_kept_byte_for_byte() {
    let layer = [
        TarEntry::file("./././a", "1"),
        TarEntry::file("/b//c/./d", "2"),
        TarEntry::file("x/../e", "3"),
        TarEntry::file(b"caf\xe9\x01", "4"),
        TarEntry::file("E", "5"),
        TarEntry::directory("dir/"),
        TarEntry::new(0, "old/"),
    ];
    assert_eq!(
        names(&image_of(&[&layer]).expect("valid")),
        [
            "/ d",
            "/E -",
            "/a -",
            "/b d",
            "/b/c d",
            "/b/c/d -",
            "/caf\\xe9\\x01 -",
            "/dir d",
            "/e -",
            "/old d",
        ]
    );
}

#[test]
fn paths_that_cannot_be_are_refused() {
    let cases = [
        ("../a", "leaves the root"),
        ("a/../../b", "leaves the root"),
        ("", "the root is not a directory"),
        (&"x".repeat(256), "256 bytes, the limit is 255"),
        (&"x/".repeat(10_000), "limit entry-path=16KiB"),
        (".wh.", "not a valid whiteout"),
        ("a/.wh..", "not a valid whiteout"),
        (".wh...", "not a valid whiteout"),
        ("./", "the root is not a directory"),
    ];
    for (path, expected) in cases {
        let reason = refusal([TarEntry::file(path, "")]);
        assert!(reason.contains(expected), "{path:.20}: {reason}");
    }
}

#[test]
fn long_names_come_in_every_way() {
    let path = format!("{}/{}", "d".repeat(255), "f".repeat(255));
    let mut by_gnu = TarBuilder::default();
    for (type_flag, name) in [(b'L', &path), (b'K', &path)] {
        let mut long = TarEntry::new(type_flag, "././@LongLink");
        long.content = [name.as_bytes(), b"\0"].concat();
        by_gnu.entry(&long);
    }
    by_gnu.entry(&TarEntry::symlink("short", "short"));
    let by_pax = TarBuilder::archive([TarEntry::symlink(&path, &path)]);
    let mut ustar = TarEntry::symlink("f", "t").header(0);
    ustar[345..348].copy_from_slice(b"d/e");
    TarBuilder::seal(&mut ustar);
    let mut by_prefix = TarBuilder::default();
    by_prefix.block(&ustar);

    for (tar, path, target) in [
        (by_gnu.finish(), path.as_str(), path.as_str()),
        (by_pax, &path, &path),
        (by_prefix.finish(), "d/e/f", "t"),
    ] {
        let tree = read(&tar).expect("valid").0.tree;
        let id = tree.find(path.as_bytes()).expect("the name is there");
        let target = FileKind::Symlink(target.as_bytes().into());
        assert_eq!(tree.inode(id).kind, target);
    }
}

#[test]
fn gnu_names_win_over_pax_and_empty_ones_over_none() {
    let long = |name: &[u8]| {
        let mut long = TarEntry::new(b'L', "long");
        long.content = name.to_vec();
        long
    };
    let entry = || TarEntry::file("header", "").record("path", "pax");
    for (gnu, expected) in [(&b"gnu\0"[..], &b"gnu"[..]), (b"\0", b"pax")] {
        let layer = read_entries([long(gnu), entry()]);
        assert!(layer.tree.find(expected).is_some());
        assert_eq!(layer.tree.len(), 2);
    }
    // In Go, a global header ends the effect of the headers before it.
    let layer = read_entries([long(b"gnu\0"), TarEntry::new(b'g', "global"), entry()]);
    assert!(layer.tree.find(b"pax").is_some());
}

#[test]
fn prefixes_that_gnu_headers_cannot_have_are_read_as_go_wrote_them() {
    for (field, expected) in [(&b"d/e"[..], &b"d/e/f"[..]), (b"00000000001\0", b"f")] {
        let mut header = TarEntry::symlink("f", "t").header(0);
        header[257..265].copy_from_slice(b"ustar  \0");
        header[345..345 + field.len()].copy_from_slice(field);
        TarBuilder::seal(&mut header);
        let mut builder = TarBuilder::default();
        builder.block(&header);
        let tree = read(&builder.finish()).expect("valid").0.tree;
        assert!(tree.find(expected).is_some());
    }
}

#[test]
fn times_and_owners_are_kept() {
    for (seconds, nanoseconds) in [(0, 1), (1 << 33, 999_999_999), (9_223_372_036, 854_775_807)] {
        let entry = TarEntry::file("a", "")
            .mtime(seconds, nanoseconds)
            .owner(4_294_967_294, 1 << 31)
            .mode(0o7755);
        let layer = read_entries([entry]);
        let id = layer.tree.find(b"a").expect("it is there");
        let metadata = &layer.tree.inode(id).metadata;
        let mtime = Timestamp {
            seconds,
            nanoseconds,
        };
        assert_eq!(metadata.mtime, mtime);
        assert_eq!((metadata.uid, metadata.gid), (4_294_967_294, 1 << 31));
        assert_eq!(metadata.mode, 0o7755);
    }
    for uid in [1 << 32, (1 << 32) - 1] {
        let reason = refusal([TarEntry::file("a", "").owner(uid, 0)]);
        assert!(
            reason.contains("its uid is not a number in range"),
            "{reason}"
        );
    }
}

#[test]
fn times_that_no_engine_sets_are_the_epoch() {
    for (seconds, nanoseconds) in [(-2, 500_000_000), (-1, 0), (9_223_372_036, 854_775_808)] {
        let layer = read_entries([TarEntry::file("a", "").mtime(seconds, nanoseconds)]);
        let id = layer.tree.find(b"a").expect("it is there");
        assert_eq!(layer.tree.inode(id).metadata.mtime, Timestamp::default());
        assert_eq!(layer.notes[0].reason, NoteReason::Time);
    }
    for key in ["mtime", "atime", "ctime"] {
        let reason = refusal([TarEntry::file("a", "").record(key, "soon")]);
        assert!(reason.contains("has an invalid value"), "{reason}");
    }
}

#[test]
fn numbers_may_be_base_256() {
    let mut header = TarEntry::file("a", "").header(3);
    header[108..116].copy_from_slice(&(0x8000_0000_0001_0000_u64 + 7).to_be_bytes());
    header[136..148]
        .copy_from_slice(&[&[0x80, 0, 0, 0][..], &(5_i64 << 30).to_be_bytes()].concat());
    TarBuilder::seal(&mut header);
    let mut builder = TarBuilder::default();
    builder.block(&header).content(b"abc");
    let layer = read(&builder.finish()).expect("valid").0;
    let id = layer.tree.find(b"a").expect("it is there");
    let metadata = &layer.tree.inode(id).metadata;
    assert_eq!((metadata.uid, metadata.mtime.seconds), (65_543, 5 << 30));
}

#[test]
fn xattrs_are_kept_where_they_may_be() {
    let entry = TarEntry::file("a", "")
        .xattr("user.note", b"x\0\ny=")
        .xattr(
            "security.capability",
            [&[1, 0, 0, 2][..], &[0; 16]].concat(),
        )
        .xattr("trusted.overlay.redirect", "/etc")
        .xattr("user.overlay.opaque", "y")
        .xattr("odd.name", "1")
        .record("LIBARCHIVE.xattr.user.b", "aGk=");
    let link = TarEntry::symlink("s", "t").xattr("user.note", "1");
    let layer = read_entries([entry, link]);
    let xattrs = |path: &[u8]| {
        let id = layer.tree.find(path).expect("it is there");
        let names = layer.tree.inode(id).metadata.xattrs.names();
        names
            .map(|name| name.escape_ascii().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(xattrs(b"a"), ["security.capability", "user.b", "user.note"]);
    assert!(xattrs(b"s").is_empty());
    let reasons: Vec<_> = layer
        .notes
        .iter()
        .map(|note| note.reason.to_string())
        .collect();
    assert_eq!(
        reasons,
        [
            "the xattr 'odd.name' is dropped, its namespace is unknown",
            "the xattr 'trusted.overlay.redirect' is dropped, it is the host's to set",
            "the xattr 'user.overlay.opaque' is dropped, it is the host's to set",
            "the xattr 'user.note' is dropped, this type of file has none",
        ]
    );
    let reason = refusal([TarEntry::file("a", "").xattr("user.big", vec![0; 65_536])]);
    assert!(
        reason.contains("its xattr 'user.big' is too long"),
        "{reason}"
    );
}

#[test]
fn types_are_known_or_refused() {
    let layer = read_entries([
        TarEntry::file("with-a-slash/", "1"),
        TarEntry::new(0, "v7"),
        TarEntry::new(0, "v7-directory/"),
        TarEntry::new(b'6', "pipe"),
        TarEntry::char_device("null", 1, 3),
        TarEntry::char_device("zero-zero", 0, 0),
        TarEntry::new(b'g', "global"),
    ]);
    assert_eq!(
        layer
            .tree
            .directory(layer.tree.root())
            .map(|names| names.len()),
        Some(6)
    );
    for code in *b"7DMNVXZs" {
        let reason = refusal([TarEntry::new(code, "a")]);
        assert!(reason.contains("its type '"), "{reason}");
    }
    let reason = refusal([TarEntry::char_device("a", 1 << 12, 0)]);
    assert!(reason.contains("4096:0 is out of range"), "{reason}");
}

#[test]
fn archives_end_in_every_way() {
    let mut builder = TarBuilder::default();
    let file = builder.entry(&TarEntry::file("a", "1")).unfinished();
    let zeros = [0; 512];
    for end in [
        &[][..],
        &zeros,
        &[zeros, zeros].concat(),
        &[&[0; 1024][..], b"junk"].concat(),
    ] {
        let layer = read(&[&file[..], end].concat()).expect("valid").0;
        assert_eq!(layer.tree.len(), 2);
        assert_eq!(read(end).expect("valid").0.tree.len(), 1);
    }
    let lone = [&zeros[..], &file].concat();
    assert!(message(&read(&lone).expect_err("refused")).contains("single zero block"));

    let limits = Limits::default().with(Limit::LayerTrailing, 3);
    let long = [&file[..], &[0; 1024], b"junk"].concat();
    let error = read_layer(&long[..], &limits, &mut MemorySink::default());
    let error = message(&error.expect_err("it is to be refused"));
    assert!(error.contains("limit layer-trailing=3B"), "{error}");
}

#[test]
fn what_is_cut_is_truncated_and_what_is_changed_is_noticed() {
    let tar = TarBuilder::archive([TarEntry::file("a", [7; 700]).xattr("user.a", "1")]);
    // The archive has two blocks of PAX, a header, 700 bytes and padding.
    for cut in 1..tar.len() - 1024 {
        match read(&tar[..cut]) {
            Err(LayerError::Truncated { offset_bytes }) => {
                assert_eq!(usize::try_from(offset_bytes), Ok(cut));
            }
            // A header that extends nothing is not an entry; an archive may lack its padding.
            Ok((layer, _)) if layer.tree.len() == 1 => {
                assert!((530..=1024).contains(&cut), "cut at {cut}");
            }
            Ok(_) => assert!(cut >= 1536 + 700, "cut at {cut}"),
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
    let mut changed = tar;
    changed[3] ^= 1;
    assert!(message(&read(&changed).expect_err("refused")).contains("checksum"));
}

#[test]
fn symlinks_of_the_layer_are_followed_inside_the_root() {
    let layer = [
        TarEntry::symlink("lib", "usr/lib"),
        TarEntry::file("lib/x", "1"),
        TarEntry::symlink("up", "../../../etc"),
        TarEntry::file("up/y", "2"),
        TarEntry::directory("usr/bin"),
        TarEntry::symlink("usr/abs", "/usr/bin"),
        TarEntry::file("usr/abs/z", "3"),
        TarEntry::hardlink("z", "usr/abs/z"),
    ];
    assert_eq!(
        names(&image_of(&[&layer]).expect("valid")),
        [
            "/ d",
            "/etc d",
            "/etc/y -",
            "/lib l usr/lib",
            "/up l ../../../etc",
            "/usr d",
            "/usr/abs l /usr/bin",
            "/usr/bin d",
            "/usr/bin/z - /usr/bin/z",
            "/usr/lib d",
            "/usr/lib/x -",
            "/z - /usr/bin/z",
        ]
    );
    let reason = refusal([TarEntry::symlink("a", "a"), TarEntry::file("a/b", "")]);
    assert!(reason.contains("too many symlinks"), "{reason}");
    let reason = refusal([TarEntry::file("a", ""), TarEntry::file("a/b", "")]);
    assert!(
        reason.contains("parent of it is not a directory"),
        "{reason}"
    );
}

#[test]
fn hard_links_lead_somewhere_or_are_refused() {
    let layer = [
        TarEntry::hardlink("early", "file"),
        TarEntry::file("file", "1"),
        TarEntry::hardlink("late", "./file"),
        TarEntry::symlink("s", "nowhere"),
        TarEntry::hardlink("s2", "s"),
        TarEntry::char_device("dev", 1, 3),
        TarEntry::hardlink("dev2", "dev"),
    ];
    assert_eq!(
        names(&image_of(&[&layer]).expect("valid")),
        [
            "/ d",
            "/dev c /dev",
            "/dev2 c /dev",
            "/early - /early",
            "/file - /early",
            "/late - /early",
            "/s l nowhere /s",
            "/s2 l nowhere /s",
        ]
    );
    for (entries, expected) in [
        (vec![TarEntry::hardlink("a", "a")], "leads to itself"),
        (
            vec![TarEntry::hardlink("a", "b"), TarEntry::hardlink("b", "a")],
            "entry-links=40",
        ),
        (
            vec![TarEntry::directory("d"), TarEntry::hardlink("a", "d")],
            "leads to the directory 'd'",
        ),
        (vec![TarEntry::hardlink("a", "../b")], "leaves the root"),
    ] {
        let tar = TarBuilder::archive(entries);
        let reason = message(&read(&tar).expect_err("it is to be refused"));
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn duplicates_the_last_wins() {
    let layer = [
        TarEntry::file("a", "1").mode(0o600),
        TarEntry::file("a", "2").mode(0o640),
        TarEntry::directory("d").mode(0o700),
        TarEntry::file("d/x", ""),
        TarEntry::directory("d").mode(0o711),
        TarEntry::directory("e"),
        TarEntry::file("e/x", ""),
        TarEntry::file("e", ""),
        TarEntry::symlink("f", "d"),
        TarEntry::directory("f"),
    ];
    let image = image_of(&[&layer]).expect("valid");
    assert_eq!(
        names(&image),
        ["/ d", "/a -", "/d d", "/d/x -", "/e -", "/f d"]
    );
    let text = image.to_string();
    assert!(
        text.contains("/a - 0640") && text.contains("/d d 0711"),
        "{text}"
    );
}

#[test]
fn limits_hold_and_are_named() {
    let file = |path: &str| TarEntry::file(path, "");
    let loops = |count: u32| {
        let link = |n| TarEntry::symlink(format!("s{n}"), format!("s{}", n + 1));
        let links = (0..count).map(link);
        links.chain([file("s0/x")]).collect::<Vec<_>>()
    };
    let cases = [
        ("entry-path=10B", vec![file("a")], vec![file("a/b/c/d/e/f")]),
        (
            "entry-depth=3",
            vec![file("a/b/c/d")],
            vec![file("a/b/c/d/e")],
        ),
        ("entry-depth=3", vec![file("a/b/c/d")], {
            let mut entries = vec![TarEntry::symlink("s", "a/b/c"), file("s/d")];
            entries.push(TarEntry::symlink("s/deeper", "d/e/f"));
            entries.push(file("s/deeper/x"));
            entries
        }),
        ("entry-links=2", loops(2), loops(3)),
        (
            "entry-xattrs=20B",
            vec![file("a").xattr("user.a", [0; 14])],
            vec![file("a").xattr("user.a", [0; 15])],
        ),
        (
            "entry-record=60B",
            vec![file("a").record("comment", [b'x'; 40])],
            vec![file("a").record("comment", [b'x'; 60])],
        ),
        (
            "entry-segments=1",
            vec![file("a").record("GNU.sparse.map", "0,0")],
            vec![file("a").record("GNU.sparse.map", "0,0,0,0")],
        ),
        (
            "layer-targets=8B",
            vec![
                TarEntry::symlink("s", "a/b/c"),
                TarEntry::hardlink("x", "s/f"),
            ],
            vec![
                TarEntry::symlink("s", "a/b/c"),
                TarEntry::hardlink("x", "s/f"),
                TarEntry::hardlink("y", "s/g"),
                TarEntry::hardlink("z", "s/h"),
            ],
        ),
        (
            "layer-bytes=8KiB",
            vec![TarEntry::file("a", "1"), TarEntry::file("b", "2")],
            vec![TarEntry::file("a", "1"), TarEntry::file("b", [0; 4097])],
        ),
        (
            "layer-entries=3",
            vec![file("a"), file("b"), file("c")],
            vec![file("a/b/c/d")],
        ),
        (
            "layer-entries=3",
            vec![file("a/b/c")],
            vec![file("a"), file("a"), file("a"), file("a")],
        ),
        (
            "layer-metadata=4KiB",
            vec![file("a")],
            (0..20).map(|n| file(&n.to_string())).collect(),
        ),
    ];
    for (setting, fitting, too_much) in cases {
        let limits = Limits::parse(setting).expect("the setting is valid");
        let read = |entries: Vec<TarEntry>| {
            let tar = TarBuilder::archive(entries);
            read_layer(&tar[..], &limits, &mut MemorySink::default())
        };
        assert!(read(fitting).is_ok(), "{setting}");
        let error = message(&read(too_much).expect_err(setting));
        assert!(error.contains(setting), "{setting}: {error}");
    }
}

#[test]
fn notes_are_counted_beyond_those_that_are_kept() {
    let limits = Limits::default().with(Limit::LayerNotes, 1);
    let odd = |path| TarEntry::file(path, "").xattr("trusted.a", "1");
    let tar = TarBuilder::archive([odd("a"), odd("b"), odd("c")]);
    let layer = read_layer(&tar[..], &limits, &mut MemorySink::default()).expect("valid");
    assert_eq!((layer.notes.len(), layer.notes_total), (1, 3));
}

#[test]
fn errors_name_the_entry() {
    let tar = TarBuilder::archive([TarEntry::file("a", ""), TarEntry::file("../etc", "")]);
    match read(&tar) {
        Err(LayerError::Entry {
            offset_bytes: 512,
            path,
            source: InvalidEntry::LeavesRoot,
        }) => assert_eq!(path.as_bytes(), b"../etc"),
        other => panic!("{other:?}"),
    }
}
