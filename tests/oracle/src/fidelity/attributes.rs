//! Owners, modes, times and xattrs.

use testkit::{TarBuilder, TarEntry};

use super::row::{At, Image, Row, entries, one};

/// `cap_net_raw=ep` (`struct vfs_cap_data`, revision 2).
const CAPABILITY: &[u8] = b"\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// `u::rw-,u:1000:r--,g::r--,m::r--,o::---` (`struct posix_acl_xattr_entry`).
const ACL: &[u8] = b"\x02\0\0\0\x01\0\x06\0\xff\xff\xff\xff\x02\0\x04\0\xe8\x03\0\0\
    \x04\0\x04\0\xff\xff\xff\xff\x10\0\x04\0\xff\xff\xff\xff\x20\0\0\0\xff\xff\xff\xff";

pub(super) const ROWS: &[Row] = &[
    Row::umoci(
        "xattrs",
        "`SCHILY.xattr.*`: capabilities, `user.*`, `security.*`, values with NUL and newline",
        "kept, on every type that can hold them",
        |at| {
            one([
                at.file("capable")
                    .mode(0o755)
                    .xattr("security.capability", CAPABILITY),
                at.file("noted").xattr("user.note", b"a\0b\nc=d"),
                at.directory("directory").xattr("user.d", b"\xff\xfe"),
                at.file("many")
                    .xattr("user.a", b"1")
                    .xattr("user.b", [7; 300])
                    .xattr("security.x", b"y"),
                at.symlink("link", "noted")
                    .xattr("security.on-a-link", b"z"),
                at.entry(b'6', "pipe").xattr("security.on-a-pipe", b"z"),
            ])
        },
    ),
    Row::umoci("acls", "POSIX ACLs (`system.posix_acl_*`)", "kept", |at| {
        one([
            at.file("access")
                .mode(0o640)
                .xattr("system.posix_acl_access", ACL),
            at.directory("default")
                .mode(0o755)
                .xattr("system.posix_acl_default", ACL),
        ])
    }),
    Row::plain(
        "libarchive",
        "`LIBARCHIVE.xattr.*`: base64, name percent-encoded; beside `SCHILY`",
        "kept; `SCHILY` wins",
        |at| {
            one([
                at.file("one")
                    .record("LIBARCHIVE.xattr.user.a%20b", b"aGVsbG8AIQ=="),
                at.file("two")
                    .record("LIBARCHIVE.xattr.user.c", b"bG9zZXM=")
                    .xattr("user.c", b"wins"),
            ])
        },
        |at| {
            entries([
                at.file("one").xattr("user.a b", b"hello\0!"),
                at.file("two").xattr("user.c", b"wins"),
            ])
        },
    ),
    Row::plain(
        "instructions",
        "`trusted.*` and `user.overlay.*`",
        "dropped: they instruct overlayfs",
        |at| {
            one([
                at.directory("innocent")
                    .xattr("trusted.overlay.redirect", b"/etc")
                    .xattr("trusted.overlay.opaque", b"y")
                    .xattr("user.overlay.opaque", b"y")
                    .xattr("user.kept", b"1"),
                at.file("file").xattr("trusted.note", b"1"),
            ])
        },
        |at| {
            entries([
                at.directory("innocent").xattr("user.kept", b"1"),
                at.file("file"),
            ])
        },
    ),
    Row::umoci(
        "times",
        "times with nanoseconds, beyond 2^31 and 2^32; in octal, base-256 and PAX",
        "kept to the nanosecond",
        times,
    ),
    Row::plain(
        "times-far",
        "times before 1970 and after 2262",
        "0, as containerd and Docker have it",
        |at| {
            one([
                at.file("before").mtime(-3, 500_000_000),
                at.file("after").mtime(9_223_372_037, 0),
            ])
        },
        |at| entries([at.file("before").mtime(0, 0), at.file("after").mtime(0, 0)]),
    ),
    Row::umoci("owners", "uid and gid up to 2^32 - 2", "kept", |at| {
        one([
            at.file("small").owner(1000, 100),
            at.file("sixteen").owner(65_535, 65_536),
            at.file("largest").owner(4_294_967_294, 4_294_967_294),
            at.directory("directory").owner(2_097_152, 3_000_000_000),
            at.symlink("link", "small").owner(70_000, 5),
        ])
    }),
    Row::refused(
        "uid-33",
        "a uid beyond 32 bits, which would wrap to root",
        "uid",
        |at| one([at.file("root").owner(4_294_967_296, 0)]),
    ),
    Row::umoci("base-256", "uid, gid and size in base-256", "kept", |at| {
        let entry = at.file_of("file", "twelve bytes");
        let mut header = entry.header(12);
        base_256(&mut header[108..116], 3_000_000_000);
        base_256(&mut header[116..124], 2_500_000_000);
        base_256(&mut header[124..136], 12);
        TarBuilder::seal(&mut header);
        let mut builder = TarBuilder::default();
        builder
            .block(&header)
            .content(&entry.content)
            .entry(&at.file("next"));
        Image::Shared(vec![builder.unfinished()])
    }),
    Row::umoci(
        "pax-size",
        "a size in PAX, another one in the header",
        "PAX wins",
        |at| {
            let entry = at.file_of("file", "twelve bytes");
            let mut builder = TarBuilder::default();
            let mut pax = TarEntry::new(b'x', "pax");
            pax.content = b"11 size=12\n".to_vec();
            builder
                .entry(&pax)
                .block(&entry.header(3))
                .content(&entry.content);
            builder.entry(&at.file("next"));
            Image::Shared(vec![builder.unfinished()])
        },
    ),
    Row::umoci("modes", "setuid, setgid, sticky; mode 0000", "kept", |at| {
        one([
            at.file("setuid").mode(0o4755),
            at.file("setgid").mode(0o2755).owner(3, 4),
            at.directory("sticky").mode(0o1777),
            at.directory("setgid-directory").mode(0o2775).owner(5, 6),
            at.file("none").mode(0),
            at.directory("closed").mode(0),
            at.file("all").mode(0o7777),
        ])
    }),
];

fn times(at: &At) -> Image {
    let mut builder = TarBuilder::default();
    for entry in [
        at.file("fraction").mtime(1_234_567_890, 987_654_321),
        at.file("beyond-31").mtime(0x8000_0001, 1),
        at.file("beyond-32").mtime(0x1_0000_0002, 2),
        at.directory("directory").mtime(12, 345_000_000),
        at.symlink("link", "fraction").mtime(13, 1),
    ] {
        builder.entry(&entry);
    }
    let mut header = at.file_of("base-256", "").header(0);
    base_256(&mut header[136..148], 0x1_0000_0003);
    TarBuilder::seal(&mut header);
    builder.block(&header);
    Image::Shared(vec![builder.unfinished()])
}

/// Writes a number as GNU tar does if it does not fit into octal digits.
fn base_256(field: &mut [u8], number: u64) {
    field.fill(0);
    let start = field.len() - 8;
    field[start..].copy_from_slice(&number.to_be_bytes());
    field[0] |= 0x80;
}
