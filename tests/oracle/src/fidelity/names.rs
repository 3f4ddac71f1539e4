//! The spelling, normalisation and refusal of names.

use testkit::{TarBuilder, TarEntry};

use super::row::{At, Image, Row, alone, entries, one, two};

pub(super) const ROWS: &[Row] = &[
    Row::plain(
        "dots",
        "`.`, `./`, `//`, trailing `/`, `a/./b`",
        "normalised",
        |at| {
            one([
                at.file("././a"),
                at.directory("b//"),
                at.directory("b/c/."),
                at.file("b//c/./d").mode(0o640),
            ])
        },
        |at| {
            entries([
                at.file_of("a", "././a").mtime(1_700_000_000, 5),
                at.directory("b"),
                at.directory("b/c"),
                at.file_of("b/c/d", "b//c/./d")
                    .mode(0o640)
                    .mtime(1_700_000_000, 5),
            ])
        },
    ),
    Row::plain(
        "parent",
        "`a/../b`",
        "lexically `b`",
        |at| one([at.file("a/../b")]),
        |at| entries([at.file_of("b", "a/../b").mtime(1_700_000_000, 5)]),
    ),
    Row::refused(
        "escape",
        "a path that leaves the root",
        "leaves the root",
        |at| one([at.file("../../etc/passwd")]),
    ),
    Row::refused(
        "escape-link",
        "a hard link whose target leaves the root",
        "leaves the root",
        |at| {
            let link = TarEntry::hardlink(at.path("link"), "../../etc/passwd");
            one([link])
        },
    ),
    Row::plain(
        "absolute",
        "absolute names",
        "taken relative to the root",
        |at| {
            let rooted = |path: &str| [b"/", &at.path(path)[..]].concat();
            one([
                TarEntry::file(rooted("a"), "a").mtime(1, 0),
                TarEntry::hardlink(rooted("b"), rooted("a")).mtime(1, 0),
            ])
        },
        |at| {
            entries([
                TarEntry::file(at.path("a"), "a").mtime(1, 0),
                TarEntry::hardlink(at.path("b"), at.path("a")).mtime(1, 0),
            ])
        },
    ),
    Row::refused(
        "component",
        "a component of 256 bytes",
        "256 bytes, the limit is 255",
        |at| one([at.file(&"n".repeat(256))]),
    ),
    Row::umoci(
        "long",
        "components of 255 bytes, a path of 3,900",
        "kept",
        |at| {
            let component = |index: usize| format!("{index:02}").repeat(128)[..255].to_owned();
            let mut path = String::new();
            let mut all = Vec::new();
            for index in 0..15 {
                path.push_str(&component(index));
                all.push(at.directory(&path));
                path.push('/');
            }
            path.push_str("file");
            all.push(at.file(&path));
            one(all)
        },
    ),
    Row::refused(
        "empty",
        "a file with an empty name",
        "the root is not a directory",
        |_| one([TarEntry::file("", "nothing")]),
    ),
    Row::refused("nul", "a NUL in a PAX path", "is invalid", |at| {
        one([at.file("short").record("path", b"a\0b")])
    }),
    Row::umoci(
        "bytes",
        "names that are not UTF-8, control characters, names that differ by case",
        "kept, byte for byte",
        |at| {
            let name = |bytes: &[u8]| TarEntry::file(at.path(bytes), bytes).mtime(3, 0);
            one([
                name(b"caf\xe9"),
                name(b"\xff\xfe"),
                name(b"line\nbreak\x1b[31m"),
                name(b"Case"),
                name(b"case"),
                name(b"CASE"),
                name(b" "),
                name(b"back\\slash"),
            ])
        },
    ),
    Row::plain(
        "implied",
        "missing parent directories",
        "made: 0755, 0:0, time 0",
        |at| one([at.file("a/b/c")]),
        |at| {
            let made = |path: &str| TarEntry::directory(at.path(path)).mtime(0, 0);
            entries([made("a"), made("a/b"), at.file("a/b/c")])
        },
    ),
    Row::umoci(
        "through",
        "an entry below a symlink of this layer",
        "lands in the link's target, resolved inside the root",
        |at| {
            one([
                at.directory("usr"),
                at.directory("usr/lib"),
                at.symlink("lib", "usr/lib"),
                at.file("lib/x"),
                at.symlink("up", "../../../../../usr"),
                at.directory("usr/lib"),
                at.directory("usr"),
            ])
        },
    ),
    Row::plain(
        "through-lower",
        "an entry below a symlink of a lower layer",
        "a new directory hides the symlink",
        |at| {
            two(
                [
                    at.directory("usr"),
                    at.file("usr/old"),
                    at.symlink("lib", "usr"),
                ],
                [at.file("lib/x")],
            )
        },
        |at| {
            entries([
                at.directory("usr"),
                at.file("usr/old"),
                TarEntry::directory(at.path("lib")).mtime(0, 0),
                at.file("lib/x"),
            ])
        },
    ),
    Row::refused(
        "loop",
        "an entry below a symlink that leads to itself",
        "symlinks",
        |at| one([at.symlink("a", "b"), at.symlink("b", "a"), at.file("a/x")]),
    ),
    Row::umoci(
        "long-names",
        "GNU `L` and `K`, PAX path and linkpath, the ustar prefix",
        "right",
        long_names,
    ),
    Row::plain(
        "long-names-both",
        "a GNU long name and a PAX path for one entry",
        "the GNU name wins, as for Go",
        |at| {
            let mut builder = TarBuilder::default();
            let mut long = TarEntry::new(b'L', "././@LongLink");
            long.content = [&at.path("gnu")[..], b"\0"].concat();
            builder.entry(&long);
            builder.entry(&at.file("short").record("path", at.path("pax")));
            Image::Shared(vec![builder.unfinished()])
        },
        |at| entries([at.file_of("gnu", "short").mtime(1_700_000_000, 5)]),
    ),
    Row {
        id: "root",
        case: "the root entry `./` with mode, owner and time",
        right: "applied to the root",
        image: |_| {
            alone([entries([
                TarEntry::directory("./")
                    .mode(0o1750)
                    .owner(7, 8)
                    .mtime(77, 0),
                TarEntry::file("in-the-root", "x").mtime(1, 0),
            ])])
        },
        answer: super::row::Answer::Umoci,
        hidden: &[],
        is_large: false,
    },
];

fn long_names(at: &At) -> Image {
    let name = |letter: &str| letter.repeat(150);
    let mut builder = TarBuilder::default();
    let mut long = TarEntry::new(b'L', "././@LongLink");
    long.content = [&at.path(name("g"))[..], b"\0"].concat();
    builder.entry(&long);
    builder.entry(&at.file("short"));
    long.content = [&at.path(name("k"))[..], b"\0"].concat();
    builder.entry(&long);
    let mut target = TarEntry::new(b'K', "././@LongLink");
    target.content = [name("t").as_bytes(), b"\0"].concat();
    builder.entry(&target);
    builder.entry(&at.symlink("short", "short"));
    builder.entry(&at.file(&name("p")));
    builder.entry(&at.symlink("pax-link", &name("q")));
    let mut prefixed = at.file("x");
    prefixed.path = b"f".to_vec();
    let mut header = prefixed.header(0);
    let prefix = at.path("prefix/of/it");
    header[345..345 + prefix.len()].copy_from_slice(&prefix);
    TarBuilder::seal(&mut header);
    builder.entry(&at.directory("prefix"));
    builder.entry(&at.directory("prefix/of"));
    builder.entry(&at.directory("prefix/of/it"));
    builder.block(&header);
    builder.entry(&at.directory("prefix/of/it"));
    Image::Shared(vec![builder.unfinished()])
}
