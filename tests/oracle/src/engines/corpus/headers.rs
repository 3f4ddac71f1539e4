//! Tar headers with wrong fields, and archives that end too early.

use testkit::{TarBuilder, TarEntry};

use super::{Case, entry, file};

/// A field: its name, offset and width in the header (POSIX.1-1988, `struct posix_header`).
const FIELDS: [(&str, usize, usize); 7] = [
    ("mode", 100, 8),
    ("uid", 108, 8),
    ("gid", 116, 8),
    ("size", 124, 12),
    ("mtime", 136, 12),
    ("devmajor", 329, 8),
    ("devminor", 337, 8),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (field, start, width) in FIELDS {
        for (name, value) in values(width) {
            cases.push(Case::new(
                format!("header/{field}/{name}"),
                vec![archive(|header| {
                    header[start..start + width].copy_from_slice(&value);
                })],
            ));
        }
    }
    for type_flag in [
        b'\0', b'0', b'7', b'8', b'A', b'D', b'M', b'N', b'S', b'V', b'X', b'Z', b's', b'g', b'x',
        b'L', b'K', b' ', 0xff,
    ] {
        let name = format!("type/{}", type_flag.escape_ascii());
        cases.push(Case::one(
            name,
            [
                TarEntry {
                    content: b"some".to_vec(),
                    ..entry(type_flag, "odd")
                },
                file("after"),
            ],
        ));
    }
    for type_flag in [b'2', b'3', b'4', b'5', b'6'] {
        let odd = TarEntry {
            content: b"body".to_vec(),
            link: b"target".to_vec(),
            ..entry(type_flag, "odd")
        };
        cases.push(Case::one(
            format!("body/{}", type_flag.escape_ascii()),
            [odd, file("after")],
        ));
    }
    cases.extend(magics());
    cases.extend(ends());
    cases.extend(long_names());
    cases
}

/// Returns spellings of a number for a field of this width.
fn values(width: usize) -> Vec<(&'static str, Vec<u8>)> {
    let text = |text: &str| {
        let mut field = text.as_bytes().to_vec();
        field.resize(width, 0);
        field
    };
    let base_256 = |first: u8, rest: u8, last: u8| {
        let mut field = vec![rest; width];
        (field[0], field[width - 1]) = (first, last);
        field
    };
    vec![
        ("empty", text("")),
        ("spaces", vec![b' '; width]),
        ("leading-spaces", text("   7")),
        ("garbage", text("zz")),
        ("nine", text("9")),
        ("signed", text("-1")),
        ("plus", text("+1")),
        ("full", vec![b'7'; width]),
        ("inner-nul", text("1\x002")),
        ("base-256", base_256(0x80, 0, 3)),
        ("base-256-large", base_256(0x80, 0x7f, 0xff)),
        ("base-256-negative", base_256(0xff, 0xff, 0xfe)),
    ]
}

/// Returns a file with a changed and sealed header, and another file.
fn archive(change: impl FnOnce(&mut [u8; 512])) -> Vec<u8> {
    let mut header = file("odd").header(3);
    change(&mut header);
    TarBuilder::seal(&mut header);
    let mut builder = TarBuilder::default();
    builder.block(&header).content(b"odd").entry(&file("after"));
    builder.finish()
}

fn magics() -> Vec<Case> {
    let case = |name: &str, change: fn(&mut [u8; 512])| {
        Case::new(format!("magic/{name}"), vec![archive(change)])
    };
    let mut cases = vec![
        case("v7", |header| header[257..512].fill(0)),
        case("gnu", |header| {
            header[257..265].copy_from_slice(b"ustar  \0")
        }),
        case("odd", |header| {
            header[257..265].copy_from_slice(b"uxtar\x0000")
        }),
        case("version", |header| header[263..265].copy_from_slice(b"99")),
        case("prefix", |header| {
            header[345..350].copy_from_slice(b"a/b/c")
        }),
        case("prefix-up", |header| {
            header[345..352].copy_from_slice(b"../../.")
        }),
        case("name-full", |header| header[..100].fill(b'n')),
        case("name-nul-first", |header| header[0] = 0),
    ];
    let mut broken = archive(|_| {});
    broken[150] ^= 1;
    cases.push(Case::new("magic/checksum", vec![broken]));
    let mut signed = file("caf").header(0);
    signed[3] = 0xe9;
    signed[148..156].fill(b' ');
    let sum: i32 = signed
        .iter()
        .map(|&byte| i32::from(byte.cast_signed()))
        .sum();
    signed[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    cases.push(Case::new(
        "magic/signed-checksum",
        vec![[&signed[..], &[0; 1024]].concat()],
    ));
    cases
}

fn ends() -> Vec<Case> {
    let whole = TarBuilder::archive([
        file("a"),
        TarEntry::file("b", [7; 1500]).mtime(3, 0),
        file("c"),
    ]);
    let mut cases = Vec::new();
    for length in [
        0,
        1,
        511,
        512,
        513,
        1023,
        1024,
        1536,
        1537,
        2048,
        3072,
        3584,
        4095,
        4096,
        4608,
        whole.len() - 1,
        whole.len() - 512,
    ] {
        cases.push(Case::new(
            format!("cut/{length}"),
            vec![whole[..length.min(whole.len())].to_vec()],
        ));
    }
    let with = |name: &str, tail: Vec<u8>| {
        Case::new(format!("tail/{name}"), vec![[&whole[..], &tail].concat()])
    };
    cases.push(with("zeros", vec![0; 10_240]));
    cases.push(with("odd-zeros", vec![0; 777]));
    cases.push(with("garbage", vec![0xa5; 5000]));
    cases.push(with("archive", TarBuilder::archive([file("hidden")])));
    let gap = |blocks: usize| {
        [
            TarBuilder::archive([file("a")])[..1024].to_vec(),
            vec![0; 512 * blocks],
            TarBuilder::archive([file("b")]),
        ]
        .concat()
    };
    cases.push(Case::new("gap/one", vec![gap(1)]));
    cases.push(Case::new("gap/two", vec![gap(2)]));
    cases.push(Case::new("zeros/one", vec![vec![0; 512]]));
    cases.push(Case::new("zeros/many", vec![vec![0; 51_200]]));
    cases.push(Case::new(
        "text",
        vec![b"this is no archive at all\n".repeat(40)],
    ));
    cases
}

fn long_names() -> Vec<Case> {
    let long = |type_flag: u8, content: &[u8]| TarEntry {
        content: content.to_vec(),
        ..TarEntry::new(type_flag, "././@LongLink")
    };
    let name = [&b"l".repeat(120)[..], b"\0"].concat();
    vec![
        Case::one("long/name", [long(b'L', &name), file("short")]),
        Case::one(
            "long/twice",
            [long(b'L', &name), long(b'L', b"other\0"), file("short")],
        ),
        Case::one(
            "long/target",
            [
                long(b'K', &name),
                TarEntry::symlink("s", "short").mtime(2, 0),
            ],
        ),
        Case::one(
            "long/both",
            [
                long(b'L', &name),
                long(b'K', &name),
                TarEntry::symlink("s", "short").mtime(2, 0),
            ],
        ),
        Case::one("long/unterminated", [long(b'L', b"no-end"), file("short")]),
        Case::one(
            "long/inner-nul",
            [long(b'L', b"front\0back\0"), file("short")],
        ),
        Case::one("long/empty", [long(b'L', b""), file("short")]),
        Case::one("long/alone", [long(b'L', &name)]),
        Case::one(
            "long/up",
            [long(b'L', b"../../etc/passwd\0"), file("short")],
        ),
        Case::one(
            "long/before-pax",
            [long(b'L', b"gnu\0"), file("short").record("path", "pax")],
        ),
        Case::one(
            "long/huge",
            [long(b'L', &b"h".repeat(2 << 20)), file("short")],
        ),
    ]
}
