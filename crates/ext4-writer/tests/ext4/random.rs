//! Random trees, read by every reader.

use fstree::{Device, FileKind, FileType, Metadata, Name, Timestamp, Tree, Xattrs};
use proptest::prelude::*;
use proptest::sample::Index;
use testkit::{Content, TreeDump};

use crate::image;
use crate::listing::{dump, open};
use crate::mounted::{Mount, e2fsck};

/// An inode to add, and the earlier directory that it is added to.
#[derive(Debug, Clone)]
struct Planted {
    parent: Index,
    name: Vec<u8>,
    metadata: Metadata,
    kind: FileKind<Vec<u8>>,
    /// Further names of the inode, each with its directory.
    links: Vec<(Index, Vec<u8>)>,
}

fn a_name() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), b'!'..b'0', Just(b'.')];
    let short = prop::collection::vec(byte.clone(), 1..12);
    let long = prop::collection::vec(byte, 200..=255);
    prop_oneof![4 => short, 1 => long].prop_filter("a valid name", |name| Name::new(name).is_ok())
}

/// Returns metadata with any time that ext4 can store.
fn metadata() -> impl Strategy<Value = Metadata> {
    let last = (1_i64 << 34) - (1 << 31) - 1;
    let seconds = prop_oneof![Just(0), i64::from(i32::MIN)..=last];
    let nanoseconds = prop_oneof![Just(0), 0_u32..1_000_000_000];
    let owner = prop_oneof![Just(0), 0_u32..200_000, 0..u32::MAX];
    (
        0_u16..0o10_000,
        owner.clone(),
        owner,
        seconds,
        nanoseconds,
        xattrs(),
    )
        .prop_map(|(mode, uid, gid, seconds, nanoseconds, xattrs)| Metadata {
            mode,
            uid,
            gid,
            mtime: Timestamp {
                seconds,
                nanoseconds,
            },
            xattrs,
        })
}

/// Returns xattrs that fit one block.
fn xattrs() -> impl Strategy<Value = Xattrs> {
    let prefix = prop_oneof![Just("user."), Just("trusted."), Just("security.x")];
    let suffix = prop_oneof![9 => "[a-d]", 1 => "[a-z.]{100,200}"];
    let value = prop_oneof![
        6 => prop::collection::vec(any::<u8>(), 0..3),
        3 => prop::collection::vec(any::<u8>(), 0..60),
        1 => prop::collection::vec(any::<u8>(), 500..1000),
    ];
    let name = (prefix, suffix).prop_map(|(prefix, suffix)| [prefix, &suffix].concat());
    prop::collection::btree_map(name, value, 0..4).prop_map(|pairs| pairs.into_iter().collect())
}

/// Returns an access control list in the kernel's order, with named users and groups.
fn acl() -> impl Strategy<Value = Vec<u8>> {
    let named = prop::collection::btree_map(0_u32..5000, 0_u8..8, 0..4);
    (named.clone(), named, prop::array::uniform4(0_u8..8)).prop_map(|(users, groups, plain)| {
        let mut value = vec![2, 0, 0, 0];
        let mut entry = |tag: u8, permissions: u8, id: u32| {
            value.extend([tag, 0, permissions, 0]);
            value.extend(id.to_le_bytes());
        };
        entry(1, plain[0], u32::MAX);
        users.into_iter().for_each(|(id, bits)| entry(2, bits, id));
        entry(4, plain[1], u32::MAX);
        groups.into_iter().for_each(|(id, bits)| entry(8, bits, id));
        entry(16, plain[2], u32::MAX);
        entry(32, plain[3], u32::MAX);
        value
    })
}

fn kind() -> impl Strategy<Value = FileKind<Vec<u8>>> {
    let content = (0_usize..60_000, any::<u8>()).prop_map(|(length, seed)| {
        let bytes = (0..length).map(|at| seed ^ at.to_le_bytes()[0] ^ at.to_le_bytes()[1]);
        bytes.collect::<Vec<u8>>()
    });
    let target = prop_oneof![1_usize..70, 1_usize..4096];
    let target = target.prop_flat_map(|length| prop::collection::vec(1_u8..=255, length));
    let device = (0_u32..4096, 0_u32..1 << 20).prop_map(|(major, minor)| Device { major, minor });
    prop_oneof![
        4 => content.prop_map(FileKind::Regular),
        3 => Just(FileKind::Directory(fstree::Directory::new())),
        1 => target.prop_map(|target| FileKind::Symlink(target.into())),
        1 => device.clone().prop_map(FileKind::CharDevice),
        1 => device.prop_map(FileKind::BlockDevice),
        1 => Just(FileKind::Fifo),
        1 => Just(FileKind::Socket),
    ]
}

fn planted() -> impl Strategy<Value = Planted> {
    let link = (any::<Index>(), a_name());
    let links =
        prop_oneof![3 => Just(vec![]).boxed(), 1 => prop::collection::vec(link, 1..3).boxed()];
    let list = prop::option::weighted(0.2, acl());
    (any::<Index>(), a_name(), metadata(), kind(), links, list).prop_map(
        |(parent, name, mut metadata, kind, links, list)| {
            let has_user = matches!(kind, FileKind::Regular(_) | FileKind::Directory(_));
            // For other types the kernel lists user.* and returns none of it.
            let is_shown = |name: &[u8]| has_user || !name.starts_with(b"user.");
            metadata.xattrs.retain(|name, _| is_shown(name));
            match (&kind, list) {
                // The mode of a symlink is fixed, and it has no access control list.
                (FileKind::Symlink(_), _) => metadata.mode = 0o777,
                (_, Some(list)) => {
                    let name = b"system.posix_acl_access";
                    metadata.xattrs.insert(name, &list);
                }
                _ => {}
            }
            Planted {
                parent,
                name,
                metadata,
                kind,
                links,
            }
        },
    )
}

pub(crate) fn tree() -> impl Strategy<Value = Tree<Vec<u8>>> {
    let sizes = prop_oneof![9 => 0..40_usize, 1 => 200..600_usize];
    let inodes = sizes.prop_flat_map(|size| prop::collection::vec(planted(), size));
    (metadata(), inodes).prop_map(|(root, inodes)| grow(root, inodes))
}

fn grow(root: Metadata, inodes: Vec<Planted>) -> Tree<Vec<u8>> {
    let mut tree = Tree::new(root);
    let mut directories = vec![tree.root()];
    for planted in inodes {
        let is_directory = planted.kind.file_type() == FileType::Directory;
        let id = tree.add(fstree::Inode {
            metadata: planted.metadata,
            kind: planted.kind,
        });
        let mut names = vec![(planted.parent, planted.name)];
        if !is_directory {
            names.extend(planted.links);
        }
        for (parent, name) in names {
            let parent = *parent.get(&directories);
            let name = Name::new(&name).expect("filtered");
            if tree.lookup(parent, name.as_bytes()).is_none() {
                tree.link(parent, name, id);
            }
        }
        if is_directory {
            directories.push(id);
        }
    }
    tree
}

pub(crate) fn expected(tree: &Tree<Vec<u8>>) -> TreeDump {
    TreeDump::from_tree(tree, |content| Content::read(content.as_slice()))
        .expect("memory is readable")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_written_is_read(tree in tree()) {
        let file = image(&tree, 64 << 20);
        let image = open(file.path());
        let found = dump(&image);
        let wanted = expected(&tree);
        prop_assert!(found == wanted, "{:#?}", wanted.differences(&found));
        let report = image.verify();
        prop_assert!(report.is_ok(), "{report:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn oracle_kernel_and_e2fsck_agree(tree in tree()) {
        let file = image(&tree, 64 << 20);
        e2fsck(file.path());
        let mount = Mount::with(file.path(), "loop,ro");
        let found = dump(&open(file.path()));
        let seen = mount.dump();
        prop_assert!(seen == found, "{:#?}", seen.differences(&found));
    }
}
