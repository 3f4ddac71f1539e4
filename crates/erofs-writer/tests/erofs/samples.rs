//! Trees with one of everything.

use fstree::{Device, FileKind, Inode, InodeId, Metadata, Name, Timestamp, Tree, Xattrs};

use crate::model::{Content, Piece};

/// `u::rw-,g::r--,o::r--` with a named user, in the format of `system.posix_acl_access`.
pub(crate) const ACL: &[u8] = &[
    2, 0, 0, 0, // version
    1, 0, 6, 0, 255, 255, 255, 255, // user
    2, 0, 6, 0, 232, 3, 0, 0, // user 1000
    4, 0, 4, 0, 255, 255, 255, 255, // group
    16, 0, 6, 0, 255, 255, 255, 255, // mask
    32, 0, 4, 0, 255, 255, 255, 255, // other
];

/// `cap_net_raw=ep`, in the format of `security.capability`.
pub(crate) const CAPABILITY: &[u8] = &[1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

pub(crate) fn name(bytes: impl AsRef<[u8]>) -> Name {
    Name::new(bytes.as_ref()).unwrap()
}

pub(crate) fn xattrs(pairs: &[(&str, &[u8])]) -> Xattrs {
    pairs.iter().copied().collect()
}

/// Adds an inode under one name.
pub(crate) fn put(
    tree: &mut Tree<Content>,
    parent: InodeId,
    file_name: impl AsRef<[u8]>,
    metadata: Metadata,
    kind: FileKind<Content>,
) -> InodeId {
    let id = tree.add(Inode { metadata, kind });
    tree.link(parent, name(file_name), id);
    id
}

pub(crate) fn directory() -> FileKind<Content> {
    FileKind::Directory(Default::default())
}

/// Returns a tree with inodes of each kind and with all their special attributes.
pub(crate) fn one_of_each() -> Tree<Content> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let root = tree.root();
    let plain = Metadata::with_mode(0o644);
    let owned = Metadata {
        mode: 0o6751,
        uid: 100_000,
        gid: 65_536,
        mtime: Timestamp {
            seconds: 1_700_000_000,
            nanoseconds: 123_456_789,
        },
        xattrs: xattrs(&[
            ("user.note", b"only here"),
            ("security.capability", CAPABILITY),
            ("trusted.shared", b"the same twice"),
        ]),
    };
    put(
        &mut tree,
        root,
        "empty",
        plain.clone(),
        FileKind::Regular(Content::default()),
    );
    let file = FileKind::Regular(Content::whole(5000, 0, 1));
    let hello = put(&mut tree, root, "hello", owned.clone(), file);
    let sub = put(
        &mut tree,
        root,
        "sub",
        Metadata::directory(0o1777),
        directory(),
    );
    tree.link(sub, name("hello-again"), hello);
    tree.inode_mut(sub).metadata.xattrs = xattrs(&[
        ("trusted.shared", b"the same twice"),
        ("system.posix_acl_default", ACL),
    ]);
    special_files(&mut tree, sub);
    sparse_files(&mut tree);
    tree
}

fn special_files(tree: &mut Tree<Content>, sub: InodeId) {
    let plain = Metadata::with_mode(0o644);
    let early = Metadata {
        mtime: Timestamp {
            seconds: -86_400,
            nanoseconds: 5,
        },
        ..Metadata::with_mode(0o777)
    };
    put(
        tree,
        sub,
        "link",
        early,
        FileKind::Symlink((*b"../hello").into()),
    );
    let null = Device { major: 1, minor: 3 };
    put(
        tree,
        sub,
        "null",
        Metadata::with_mode(0o666),
        FileKind::CharDevice(null),
    );
    let disk = Device {
        major: 259,
        minor: 70_000,
    };
    put(
        tree,
        sub,
        "disk",
        Metadata::with_mode(0o660),
        FileKind::BlockDevice(disk),
    );
    put(tree, sub, "fifo", plain.clone(), FileKind::Fifo);
    put(tree, sub, "socket", plain, FileKind::Socket);
}

fn sparse_files(tree: &mut Tree<Content>) {
    let root = tree.root();
    let plain = Metadata::with_mode(0o644);
    let sparse = Content {
        size_bytes: 5 * 4096 - 7,
        pieces: vec![
            Piece {
                file_block: 1,
                blocks: 1,
                device: 0,
                seed: 2,
            },
            Piece {
                file_block: 4,
                blocks: 1,
                device: 0,
                seed: 3,
            },
        ],
    };
    put(
        tree,
        root,
        "sparse",
        plain.clone(),
        FileKind::Regular(sparse),
    );
    let hole = Content {
        size_bytes: 1 << 20,
        pieces: vec![],
    };
    put(tree, root, "hole", plain, FileKind::Regular(hole));
}

/// Adds owners, times and devices at their limits.
fn limits(tree: &mut Tree<Content>) {
    let root = tree.root();
    let times = [
        (-1, 999_999_999),
        (-(1 << 31) - 1, 1),
        (1 << 31, 0),
        (1 << 32, 999_999_999),
        (1 << 40, 5),
        (-(1 << 40), 5),
    ];
    for (number, (seconds, nanoseconds)) in times.into_iter().enumerate() {
        let metadata = Metadata {
            mode: 0o7777,
            uid: u32::MAX - 1,
            gid: 1 << 31,
            mtime: Timestamp {
                seconds,
                nanoseconds,
            },
            xattrs: Xattrs::new(),
        };
        let file_name = format!("time-{number}");
        put(tree, root, file_name, metadata, FileKind::Fifo);
    }
    for (major, minor) in [(0, 0), (0, 255), (255, 256), (256, 0), (4095, 0xF_FFFF)] {
        let device = Device { major, minor };
        let plain = Metadata::with_mode(0o600);
        let file_name = format!("device-{major}-{minor}");
        put(
            tree,
            root,
            &file_name,
            plain.clone(),
            FileKind::CharDevice(device),
        );
        let file_name = format!("block-{file_name}");
        put(tree, root, file_name, plain, FileKind::BlockDevice(device));
    }
    // 64 KiB of values are more than ext4 can hold.
    let value = [9; 4096];
    let names: Vec<String> = (0..16).map(|number| format!("trusted.{number}")).collect();
    let pairs: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &value[..])).collect();
    let metadata = Metadata {
        xattrs: xattrs(&pairs),
        ..Metadata::with_mode(0o600)
    };
    put(
        tree,
        root,
        "xattrs-of-64-kib",
        metadata,
        FileKind::Regular(Content::default()),
    );
}

/// Returns a tree with extreme names, targets, directories and xattrs. Some names sort around `.`
/// and `..`.
pub(crate) fn extremes() -> Tree<Content> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let root = tree.root();
    let plain = Metadata::with_mode(0o600);
    let fifo = || FileKind::Fifo;
    for odd in [
        &b"!"[..],
        b"+",
        b"-",
        b".-",
        b"...",
        b".\x01",
        b"A",
        b"a",
        b"\xff\xfe",
        b"new\nline",
        b"\"",
    ] {
        put(&mut tree, root, odd, plain.clone(), fifo());
    }
    put(&mut tree, root, [b'n'; 255], plain.clone(), fifo());
    for length in [1, 59, 4031, 4032, 4033, 4064, 4095] {
        let target = FileKind::Symlink(vec![b't'; length].into());
        put(
            &mut tree,
            root,
            format!("target-{length}"),
            plain.clone(),
            target,
        );
    }
    for count in [1, 17, 330, 3000] {
        let large = put(
            &mut tree,
            root,
            format!("dir-{count}"),
            Metadata::directory(0o700),
            directory(),
        );
        for number in 0..count {
            put(
                &mut tree,
                large,
                format!("{number:08}"),
                plain.clone(),
                fifo(),
            );
        }
    }
    for length in [0, 1, 4000, 4084, 5000, 65_535] {
        let value = vec![7; length];
        let metadata = Metadata {
            xattrs: xattrs(&[("trusted.value", &value), ("user.short", b"")]),
            ..plain.clone()
        };
        let with = put(
            &mut tree,
            root,
            format!("xattr-{length}"),
            metadata.clone(),
            directory(),
        );
        tree.inode_mut(with).metadata.mode = 0o755;
        put(&mut tree, with, "in", metadata, fifo());
    }
    limits(&mut tree);
    let mut deep = root;
    for _ in 0..200 {
        deep = put(
            &mut tree,
            deep,
            "d",
            Metadata::directory(0o755),
            directory(),
        );
    }
    tree
}

/// Returns a tree with files on three devices: whole, in parts and with holes.
pub(crate) fn on_devices() -> Tree<Content> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let root = tree.root();
    let plain = Metadata::with_mode(0o644);
    for device in 1..=3_u8 {
        for size in [1, 4096, 4097, 100_000] {
            let content = Content::whole(size, device.into(), device);
            let file_name = format!("device-{device}-{size}");
            put(
                &mut tree,
                root,
                file_name,
                plain.clone(),
                FileKind::Regular(content),
            );
        }
    }
    let mixed = Content {
        size_bytes: 40 * 4096 + 1,
        pieces: vec![
            Piece {
                file_block: 0,
                blocks: 8,
                device: 3,
                seed: 9,
            },
            Piece {
                file_block: 16,
                blocks: 16,
                device: 1,
                seed: 8,
            },
            Piece {
                file_block: 40,
                blocks: 1,
                device: 2,
                seed: 7,
            },
        ],
    };
    put(&mut tree, root, "mixed", plain, FileKind::Regular(mixed));
    tree
}
