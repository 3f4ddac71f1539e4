//! PAX headers with records that are malformed, repeated, empty or false.

use testkit::{TarBuilder, TarEntry};

use super::{Case, directory, file, symlink};

/// Returns a case with an extended header of this body, then a file.
fn raw(name: &str, body: &[u8]) -> Case {
    let header = TarEntry {
        content: body.to_vec(),
        ..TarEntry::new(b'x', "pax")
    };
    Case::one(
        format!("pax/{name}"),
        [header, file("short"), file("after")],
    )
}

/// Returns a correct record.
fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let mut length = key.len() + value.len() + 3;
    while length != key.len() + value.len() + 3 + length.to_string().len() {
        length = key.len() + value.len() + 3 + length.to_string().len();
    }
    [format!("{length} {key}=").as_bytes(), value, b"\n"].concat()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = malformed();
    for (name, key, value) in [
        ("path", "path", &b"renamed"[..]),
        ("path-empty", "path", b""),
        ("path-nul", "path", b"a\0b"),
        ("path-up", "path", b"../up"),
        ("path-slash", "path", b"directory/"),
        ("path-bytes", "path", b"\xff\xfe"),
        ("linkpath", "linkpath", b"elsewhere"),
        ("size-zero", "size", b"0"),
        ("size-more", "size", b"600"),
        ("size-negative", "size", b"-1"),
        ("size-text", "size", b"abc"),
        ("size-huge", "size", b"18446744073709551616"),
        ("size-large", "size", b"9223372036854775807"),
        ("size-spaces", "size", b" 5"),
        ("uid", "uid", b"123456789"),
        ("uid-negative", "uid", b"-1"),
        ("uid-33", "uid", b"4294967296"),
        ("uid-max", "uid", b"4294967295"),
        ("uid-text", "uid", b"root"),
        ("gid-huge", "gid", b"99999999999999999999"),
        ("uname", "uname", b"root"),
        ("uname-nul", "uname", b"a\0"),
        ("mtime", "mtime", b"12345.678901234"),
        ("mtime-long", "mtime", b"1.12345678901234567890"),
        ("mtime-negative", "mtime", b"-5.5"),
        ("mtime-text", "mtime", b"yesterday"),
        ("mtime-huge", "mtime", b"9223372036854775808"),
        ("mtime-large", "mtime", b"99999999999"),
        ("mtime-dot", "mtime", b"."),
        ("mtime-trailing", "mtime", b"5."),
        ("mtime-space", "mtime", b" 5"),
        ("atime", "atime", b"7.5"),
        ("ctime-text", "ctime", b"x"),
        ("charset", "charset", b"BINARY"),
        ("hdrcharset", "hdrcharset", b"BINARY"),
        ("comment", "comment", b"nothing"),
        ("unknown", "VENDOR.key", b"value"),
        ("xattr", "SCHILY.xattr.user.a", b"1"),
        ("xattr-newline", "SCHILY.xattr.user.a", b"1\n2\0"),
        ("xattr-trusted", "SCHILY.xattr.trusted.a", b"1"),
        ("xattr-odd", "SCHILY.xattr.odd.a", b"1"),
        ("xattr-bare", "SCHILY.xattr.", b"1"),
        ("xattr-no-dot", "SCHILY.xattr.user", b"1"),
        ("xattr-large", "SCHILY.xattr.user.a", &[b'v'; 3000]),
        ("capability", "SCHILY.xattr.security.capability", b"bad"),
        ("acl-bad", "SCHILY.xattr.system.posix_acl_access", b"bad"),
        ("libarchive-bad", "LIBARCHIVE.xattr.user.a", b"!!"),
        ("libarchive-percent", "LIBARCHIVE.xattr.user.%zz", b"MQ=="),
        ("selinux", "RHT.security.selinux", b"x"),
        ("fflags", "SCHILY.fflags", b"nodump"),
        ("devmajor", "SCHILY.devmajor", b"1"),
        ("realsize", "GNU.sparse.realsize", b"5"),
    ] {
        cases.push(raw(name, &record(key, value)));
    }
    cases.push(raw(
        "twice",
        &[record("path", b"first"), record("path", b"second")].concat(),
    ));
    cases.push(raw(
        "deleted",
        &[record("path", b"first"), record("path", b"")].concat(),
    ));
    let pax = |body: Vec<u8>| TarEntry {
        content: body,
        ..TarEntry::new(b'x', "pax")
    };
    let global = |body: Vec<u8>| TarEntry {
        content: body,
        ..TarEntry::new(b'g', "pax")
    };
    cases.push(Case::one(
        "pax/two-headers",
        [
            pax(record("path", b"one")),
            pax(record("mtime", b"5")),
            file("short"),
        ],
    ));
    cases.push(Case::one("pax/alone", [pax(record("path", b"one"))]));
    cases.push(Case::one(
        "pax/of-a-link",
        [
            pax(record("linkpath", b"after")),
            TarEntry::hardlink("l", "x").mtime(1, 0),
        ],
    ));
    cases.push(Case::one(
        "pax/size-of-a-directory",
        [pax(record("size", b"512")), directory("d"), file("after")],
    ));
    cases.push(Case::one(
        "pax/size-of-a-link",
        [
            pax(record("size", b"512")),
            symlink("s", "t"),
            file("after"),
        ],
    ));
    cases.push(Case::one(
        "global/path",
        [global(record("path", b"everything")), file("a"), file("b")],
    ));
    cases.push(Case::one(
        "global/mtime",
        [global(record("mtime", b"5")), file("a")],
    ));
    cases.push(Case::one(
        "global/bad",
        [global(b"nonsense".to_vec()), file("a")],
    ));
    cases.push(Case::one(
        "pax/huge",
        [pax(record("comment", &vec![b'c'; 2 << 20])), file("a")],
    ));
    cases.push(claimed("pax/claims-a-gibibyte", b'x'));
    cases.push(claimed("long/claims-a-gibibyte", b'L'));
    cases.push(claimed("file/claims-a-gibibyte", b'0'));
    cases
}

fn malformed() -> Vec<Case> {
    [
        ("no-length", &b" path=x\n"[..]),
        ("no-space", b"9path=xx\n"),
        ("no-equals", b"9 pathxx\n"),
        ("no-newline", b"9 path=xx"),
        ("short", b"5 path=x\n"),
        ("long", b"99 path=x\n"),
        ("zero", b"0 path=x\n"),
        ("negative", b"-9 path=x\n"),
        ("plus", b"+9 path=x\n"),
        ("empty-key", b"5 =x\n\n"),
        ("key-nul", b"9 pa\0h=x\n"),
        ("hex", b"0x9 path=x\n"),
        ("leading-zero", b"0010 path=x\n"),
        ("overflow", b"99999999999999999999 path=x\n"),
        ("text", b"nonsense"),
        ("nuls", &[0; 32]),
        ("trailing-nuls", b"10 path=x\n\0\0\0\0"),
        ("empty", b""),
    ]
    .into_iter()
    .map(|(name, body)| raw(&format!("malformed-{name}"), body))
    .collect()
}

/// Returns a case with a header that announces more content than follows.
fn claimed(name: &str, type_flag: u8) -> Case {
    let header = TarEntry::new(type_flag, "claim").header(1 << 30);
    let mut builder = TarBuilder::default();
    builder.block(&header).content(&[b'c'; 1000]);
    Case::new(name, vec![builder.unfinished()])
}
