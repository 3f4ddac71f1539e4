//! The effects of a layer on those below it.

use testkit::TarEntry;

use super::row::{At, Image, Row, alone, entries, two};

const LEFTOVERS: &str = "AUFS leftovers: ignored";

pub(super) const ROWS: &[Row] = &[
    Row::umoci(
        "whiteout",
        "`.wh.NAME` of a file, of a tree, of a symlink, of nothing",
        "lower content goes; a symlink goes itself",
        |at| {
            two(
                [
                    at.file("file"),
                    at.directory("tree"),
                    at.directory("tree/a"),
                    at.file("tree/a/b"),
                    at.file("kept"),
                    at.symlink("link", "kept"),
                ],
                [
                    at.file(".wh.file"),
                    at.file(".wh.tree"),
                    at.file(".wh.link"),
                    at.file(".wh.nothing"),
                ],
            )
        },
    ),
    Row::plain(
        "whiteout-odd",
        "a whiteout that is a directory, a symlink, or has content",
        "a whiteout like any other",
        |at| {
            two(
                [at.file("a"), at.file("b"), at.file("c"), at.file("kept")],
                [
                    at.directory(".wh.a"),
                    at.symlink(".wh.b", "kept"),
                    at.file_of(".wh.c", "content"),
                ],
            )
        },
        |at| entries([at.file("kept")]),
    ),
    Row::plain(
        "whiteout-own",
        "`.wh.NAME` and NAME in one layer, in both orders",
        "lower content goes, this layer's stays",
        |at| {
            two(
                [
                    at.file("before"),
                    at.file("after"),
                    at.directory("d"),
                    at.file("d/old"),
                    at.directory("e"),
                    at.file("e/old"),
                ],
                [
                    at.file(".wh.before"),
                    at.file_of("before", "new"),
                    at.file_of("after", "new"),
                    at.file(".wh.after"),
                    at.file(".wh.d"),
                    at.directory("d"),
                    at.file("d/new"),
                    at.directory("d"),
                    at.directory("e"),
                    at.file("e/new"),
                    at.directory("e"),
                    at.file(".wh.e"),
                ],
            )
        },
        |at| {
            entries([
                at.file_of("before", "new"),
                at.file_of("after", "new"),
                at.directory("d"),
                at.file("d/new"),
                at.directory("d"),
                at.directory("e"),
                at.file("e/new"),
                at.directory("e"),
            ])
        },
    ),
    Row::umoci(
        "opaque",
        "`.wh..wh..opq` before and after its directory's entry",
        "lower children go, this layer's stay, attributes are this layer's",
        |at| {
            two(
                [
                    at.directory("a"),
                    at.file("a/old"),
                    at.directory("b"),
                    at.directory("b/c"),
                    at.file("b/c/old"),
                ],
                [
                    at.file("a/.wh..wh..opq"),
                    at.directory("a").mode(0o711),
                    at.file("a/new"),
                    at.directory("a").mode(0o711),
                    at.directory("b").mode(0o700),
                    at.file("b/new"),
                    at.file("b/.wh..wh..opq"),
                    at.directory("b").mode(0o700),
                ],
            )
        },
    ),
    Row::plain(
        "opaque-bare",
        "`.wh..wh..opq` without an entry for its directory",
        "lower children go, the lower directory's attributes stay",
        |at| {
            two(
                [at.directory("d").mode(0o750).owner(1, 2), at.file("d/old")],
                [at.file("d/.wh..wh..opq"), at.file("d/new")],
            )
        },
        |at| entries([at.directory("d").mode(0o750).owner(1, 2), at.file("d/new")]),
    ),
    Row::plain(
        "opaque-root",
        "`.wh..wh..opq` in the root",
        "everything below goes",
        |_| {
            alone([
                entries([
                    TarEntry::directory("./").mtime(1, 0),
                    file("old"),
                    TarEntry::directory("d"),
                    file("d/old"),
                ]),
                entries([
                    file("new"),
                    file(".wh..wh..opq"),
                    TarEntry::directory("./").mode(0o711).mtime(2, 0),
                ]),
            ])
        },
        |_| {
            entries([
                TarEntry::directory("./").mode(0o711).mtime(2, 0),
                file("new"),
            ])
        },
    ),
    Row::plain(
        "whiteout-parent",
        "a whiteout of a directory that this layer puts entries into",
        "only the lower content goes",
        |at| {
            two(
                [at.directory("d"), at.file("d/old")],
                [
                    at.directory("d").mode(0o700),
                    at.file("d/new"),
                    at.directory("d").mode(0o700),
                    at.file(".wh.d"),
                ],
            )
        },
        |at| {
            entries([
                at.directory("d").mode(0o700),
                at.file("d/new"),
                at.directory("d").mode(0o700),
            ])
        },
    ),
    Row::plain(
        "whiteout-through",
        "a whiteout below a symlink of this layer",
        "resolved inside the root",
        |at| {
            two(
                [
                    at.directory("real"),
                    at.file("real/old"),
                    at.file("real/kept"),
                ],
                [at.symlink("link", "real"), at.file("link/.wh.old")],
            )
        },
        |at| {
            entries([
                at.directory("real"),
                at.file("real/kept"),
                at.symlink("link", "real"),
            ])
        },
    ),
    Row::umoci(
        "whiteout-and-child",
        "a whiteout of a directory and of something in it, in both orders",
        "the directory goes: a whiteout makes none",
        |at| {
            two(
                [
                    at.directory("before"),
                    at.file("before/a"),
                    at.directory("after"),
                    at.file("after/a"),
                    at.directory("deep"),
                    at.directory("deep/d"),
                    at.file("deep/d/a"),
                    at.file("kept"),
                ],
                [
                    at.file(".wh.before"),
                    at.file("before/.wh.a"),
                    at.file("after/.wh.a"),
                    at.file(".wh.after"),
                    at.file("deep/d/.wh.a"),
                    at.file(".wh.deep"),
                    at.file("nowhere/.wh.a"),
                ],
            )
        },
    ),
    Row::umoci(
        "whiteout-below-symlink",
        "a whiteout below a symlink of a lower layer",
        "holds for what the symlink leads to",
        |at| {
            two(
                [
                    at.directory("real"),
                    at.file("real/old"),
                    at.file("real/kept"),
                    at.directory("real"),
                    at.symlink("link", "real"),
                ],
                [at.file("link/.wh.old"), at.directory("real")],
            )
        },
    ),
    Row::plain(
        "aufs",
        "`.wh..wh.plnk`, `.wh..wh.aufs`, `.wh..wh.orph`, `.wh..wh.foo`",
        LEFTOVERS,
        |at| {
            two(
                [at.file("kept")],
                [
                    at.directory(".wh..wh.plnk"),
                    at.file(".wh..wh.plnk/1.2"),
                    at.file(".wh..wh.aufs"),
                    at.directory(".wh..wh.orph"),
                    at.file(".wh..wh.foo"),
                ],
            )
        },
        |at| entries([at.file("kept")]),
    ),
    Row::refused("whiteout-nothing", "`.wh.` alone", "whiteout", |at| {
        two([at.file("kept")], [at.file(".wh.")])
    }),
    Row::refused("whiteout-dot", "`.wh..`", "whiteout", |at| {
        two([at.file("kept")], [at.file(".wh..")])
    }),
    Row::refused("whiteout-dots", "`.wh...`", "whiteout", |at| {
        two([at.file("kept")], [at.file(".wh...")])
    }),
    Row::plain(
        "whiteout-long",
        "`.wh.NAME` whose NAME has 251 to 255 bytes",
        "works",
        |at| {
            let names: Vec<String> = (251..=255).map(|length| "n".repeat(length)).collect();
            two(
                names
                    .iter()
                    .map(|name| at.file(name))
                    .chain([at.file("kept")]),
                names.iter().map(|name| at.file(&format!(".wh.{name}"))),
            )
        },
        |at| entries([at.file("kept")]),
    ),
    Row::umoci(
        "types",
        "file over directory, directory over file, symlink over directory, directory over symlink, device over file",
        "replaced",
        |at| {
            two(
                [
                    at.directory("fd"),
                    at.file("fd/old"),
                    at.file("df"),
                    at.directory("sd"),
                    at.file("sd/old"),
                    at.directory("target"),
                    at.file("target/kept"),
                    at.directory("target"),
                    at.symlink("ds", "target"),
                    at.file("cf"),
                ],
                [
                    at.file("fd"),
                    at.directory("df"),
                    at.file("df/new"),
                    at.directory("df"),
                    at.symlink("sd", "target"),
                    at.directory("ds"),
                    TarEntry::char_device(at.path("cf"), 1, 5).mtime(4, 0),
                ],
            )
        },
    ),
    Row::umoci(
        "directories",
        "a directory entry over a lower directory",
        "attributes replaced, children kept",
        |at| {
            two(
                [
                    at.directory("d").mode(0o700).owner(1, 2),
                    at.file("d/kept"),
                    at.directory("d").mode(0o700).owner(1, 2),
                ],
                [at.directory("d").mode(0o755).owner(3, 4).mtime(44, 0)],
            )
        },
    ),
    Row::umoci(
        "link-lower",
        "a hard link to a file of a lower layer",
        "one inode with all its names",
        |at| {
            two(
                [
                    at.file("file").mode(0o4755).xattr("user.note", b"1"),
                    at.hardlink("second", "file")
                        .mode(0o4755)
                        .xattr("user.note", b"1"),
                ],
                [at.hardlink("third", "second")
                    .mode(0o4755)
                    .xattr("user.note", b"1")],
            )
        },
    ),
    Row::umoci(
        "link-then-whiteout",
        "a hard link to a lower file, then a whiteout of that file",
        "the link keeps the file",
        |at| {
            two(
                [at.file("file")],
                [at.hardlink("link", "file"), at.file(".wh.file")],
            )
        },
    ),
    Row::umoci(
        "links-lower",
        "a lower file of three names: one is whited out, one replaced, later one of the rest",
        "the others stay one file",
        |at| {
            Image::Shared(vec![
                entries([
                    at.file("a"),
                    at.hardlink("b", "a"),
                    at.hardlink("c", "a"),
                    at.hardlink("d", "a"),
                ]),
                entries([at.file(".wh.a"), at.file_of("b", "new")]),
                entries([at.hardlink("e", "d")]),
            ])
        },
    ),
    Row::umoci(
        "gone",
        "files that a later layer deletes and replaces",
        "nothing of them is left in sight",
        |at: &At| {
            Image::Shared(vec![
                entries([at.file("secret"), at.directory("d"), at.file("d/secret")]),
                entries([at.file(".wh.secret"), at.file(".wh.d")]),
                entries([at.directory("d"), at.file_of("secret", "public")]),
            ])
        },
    ),
];

fn file(path: &str) -> TarEntry {
    TarEntry::file(path, path).mtime(5, 0)
}
