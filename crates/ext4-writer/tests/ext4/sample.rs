use fstree::{Device, FileKind, Inode, Metadata, Name, Timestamp, Tree};

/// `cap_net_raw=ep` as `struct vfs_cap_data` (uapi/linux/capability.h).
pub(crate) const CAPABILITY: [u8; 20] =
    [1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

pub(crate) fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a valid name")
}

pub(crate) fn add_file(tree: &mut Tree<Vec<u8>>, path: &str, content: Vec<u8>) {
    let file = tree.add(Inode {
        metadata: Metadata::with_mode(0o644),
        kind: FileKind::Regular(content),
    });
    let root = tree.root();
    tree.link(root, name(path), file);
}

/// Returns a tree with one of everything that can be stored.
pub(crate) fn one_of_each() -> Tree<Vec<u8>> {
    let mut metadata = Metadata::directory(0o1777);
    metadata
        .xattrs
        .insert(b"user.root"[..].into(), b"short"[..].into());
    let mut tree = Tree::new(metadata);
    let root = tree.root();
    let kinds = [
        ("empty", FileKind::Regular(Vec::new())),
        ("one", FileKind::Regular(b"1".to_vec())),
        (
            "blocks",
            FileKind::Regular((0..20_000_u32).flat_map(u32::to_le_bytes).collect()),
        ),
        ("fast", FileKind::Symlink(vec![b'f'; 59].into())),
        ("slow", FileKind::Symlink(vec![b's'; 60].into())),
        ("longest", FileKind::Symlink(vec![b'l'; 4095].into())),
        ("null", FileKind::CharDevice(Device { major: 1, minor: 3 })),
        (
            "disk",
            FileKind::BlockDevice(Device {
                major: 259,
                minor: 70_000,
            }),
        ),
        ("pipe", FileKind::Fifo),
        ("socket", FileKind::Socket),
    ];
    for (index, (path, kind)) in (1_u32..).zip(kinds) {
        let mut metadata = Metadata::with_mode(0o4750);
        metadata.uid = 65_536 * index;
        metadata.gid = 100_000 + index;
        metadata.mtime = Timestamp {
            seconds: i64::from(index) << 31,
            nanoseconds: 123_456_789,
        };
        metadata.mtime.seconds = metadata.mtime.seconds.min((1 << 34) - (1 << 31) - 1);
        if matches!(kind, FileKind::Regular(_)) {
            metadata
                .xattrs
                .insert(b"security.capability"[..].into(), CAPABILITY[..].into());
            let value = vec![b'v'; usize::try_from(index).expect("small") * 300];
            metadata.xattrs.insert(b"user.long", &value);
            metadata
                .xattrs
                .insert(b"trusted.empty"[..].into(), b""[..].into());
        }
        let inode = tree.add(Inode { metadata, kind });
        tree.link(root, name(path), inode);
    }
    let linked = tree.find(b"one").expect("there");
    tree.link(root, Name::new(&[0xff; 255]).expect("valid"), linked);
    let directory = tree.add(Inode::directory(Metadata::directory(0o700)));
    tree.link(root, name("many"), directory);
    for index in 0..3000 {
        let metadata = Metadata::with_mode(0o600);
        let file = tree.add(Inode {
            metadata,
            kind: FileKind::Regular(Vec::new()),
        });
        tree.link(
            directory,
            name(&format!("file number {index} with a longish name")),
            file,
        );
    }
    let below = tree.add(Inode::directory(Metadata::directory(0o755)));
    tree.link(directory, name("below"), below);
    tree
}
