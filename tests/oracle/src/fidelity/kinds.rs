//! Types of entries, hard links, and several entries of one name.

use testkit::TarEntry;

use super::row::{Answer, Row, entries, one};

pub(super) const ROWS: &[Row] = &[
    Row::umoci(
        "links",
        "hard links to an earlier entry, to a symlink, a device, a FIFO; a link to a link",
        "one inode; a symlink is not followed",
        |at| {
            one([
                at.file("file"),
                at.hardlink("again", "file"),
                at.hardlink("third", "again"),
                at.symlink("symlink", "file"),
                at.hardlink("symlink-2", "symlink")
                    .mode(0o777)
                    .mtime(1_700_000_003, 0),
                device(at.entry(b'3', "device"), 1, 3),
                at.hardlink("device-2", "device").mtime(1_700_000_004, 0),
                at.entry(b'6', "pipe"),
                at.hardlink("pipe-2", "pipe").mtime(1_700_000_004, 0),
            ])
        },
    ),
    Row::plain(
        "link-later",
        "a hard link to a later entry",
        "resolved at the end of the layer",
        |at| one([at.hardlink("link", "file"), at.file("file")]),
        |at| entries([at.file("file"), at.hardlink("link", "file")]),
    ),
    Row::refused(
        "link-never",
        "a hard link to what never comes",
        "missing",
        |at| one([at.hardlink("link", "missing")]),
    ),
    Row::refused("link-self", "a hard link to itself", "link", |at| {
        one([at.hardlink("link", "link")])
    }),
    Row::refused("link-circle", "hard links in a circle", "link", |at| {
        one([at.hardlink("a", "b"), at.hardlink("b", "a")])
    }),
    Row::refused(
        "link-directory",
        "a hard link to a directory",
        "directory",
        |at| one([at.directory("d"), at.hardlink("link", "d")]),
    ),
    Row::plain(
        "link-attributes",
        "a hard link whose entry has other attributes",
        "they become the file's",
        |at| {
            one([
                at.file("file"),
                at.hardlink("link", "file")
                    .mode(0o600)
                    .owner(1, 2)
                    .mtime(9, 0),
            ])
        },
        |at| {
            entries([
                at.file("file").mode(0o600).owner(1, 2).mtime(9, 0),
                at.hardlink("link", "file")
                    .mode(0o600)
                    .owner(1, 2)
                    .mtime(9, 0),
            ])
        },
    ),
    Row::umoci(
        "twice",
        "file then file, directory then directory, directory then file, file then directory, symlink then directory",
        "the last wins; a directory onto a directory keeps the children and takes the new attributes",
        |at| {
            one([
                at.file("ff"),
                at.file_of("ff", "second").mode(0o600),
                at.directory("dd"),
                at.file("dd/x"),
                at.directory("dd").mode(0o700).mtime(5, 0),
                at.directory("df"),
                at.file("df/x"),
                at.file_of("df", "a file now"),
                at.file("fd"),
                at.directory("fd"),
                at.file("fd/x"),
                at.directory("fd"),
                at.file("target"),
                at.symlink("sd", "target"),
                at.directory("sd"),
            ])
        },
    ),
    Row::umoci(
        "reset",
        "directory, file, directory of one name",
        "old children do not come back",
        |at| {
            one([
                at.directory("d"),
                at.file("d/old"),
                at.file_of("d", "between"),
                at.directory("d"),
                at.file("d/new"),
                at.directory("d"),
            ])
        },
    ),
    Row::umoci("devices", "devices, FIFOs", "kept", |at| {
        one([
            device(at.entry(b'3', "null"), 1, 3).mode(0o666),
            device(at.entry(b'4', "disk"), 259, 300)
                .mode(0o660)
                .owner(0, 6),
            device(at.entry(b'3', "large"), 4095, 1_048_575),
            at.entry(b'6', "pipe").mode(0o622),
        ])
    }),
    Row {
        id: "zero-device",
        case: "a character device 0:0",
        right: "kept in the artifact; overlayfs hides it in the guest",
        image: |at| one([device(at.entry(b'3', "zero"), 0, 0), at.file("beside")]),
        answer: Answer::Umoci,
        hidden: &["zero"],
        is_large: false,
    },
    Row::refused("socket", "a type that is none (`s`)", "type", |at| {
        one([at.entry(b's', "socket")])
    }),
    Row::refused("unknown", "an unknown type (`Z`)", "type", |at| {
        one([at.entry(b'Z', "what")])
    }),
    Row::refused(
        "contiguous",
        "a contiguous file (`7`), which no engine takes",
        "type",
        |at| one([at.entry(b'7', "contiguous")]),
    ),
    Row::refused(
        "volume",
        "a volume label (`V`), which no engine takes",
        "type",
        |at| one([at.entry(b'V', "label")]),
    ),
    Row::plain(
        "global",
        "PAX global headers",
        "ignored, as Go's reader does",
        |at| {
            let mut global = TarEntry::new(b'g', "pax_global_header");
            global.content = b"52 comment=0123456789012345678901234567890123456789\n".to_vec();
            one([global, at.file("file")])
        },
        |at| entries([at.file("file")]),
    ),
    Row::refused(
        "symlink-empty",
        "a symlink without a target",
        "target",
        |at| one([at.symlink("link", "")]),
    ),
    Row::umoci(
        "symlinks",
        "symlink targets of 1 and 4,095 bytes, absolute and upward",
        "kept as they are",
        |at| {
            one([
                at.symlink("one", "x"),
                at.symlink("longest", &"t".repeat(4095)),
                at.symlink("absolute", "/etc/passwd"),
                at.symlink("upward", "../../../../etc/passwd"),
                at.symlink("dangling", "nowhere"),
            ])
        },
    ),
];

fn device(mut entry: TarEntry, major: u32, minor: u32) -> TarEntry {
    entry.device = fstree::Device { major, minor };
    entry
}
