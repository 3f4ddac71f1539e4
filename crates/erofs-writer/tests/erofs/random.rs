//! Random trees, read by every reader.

use fstree::{Device, FileKind, FileType, Metadata, Name, Timestamp, Tree, Xattrs};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::model::{Content, Piece};
use crate::samples::{ACL, CAPABILITY, directory};
use crate::{oracle_fsck, oracle_kernel, round_trip};

/// Number of devices with content, beside the image.
pub(crate) const DEVICES: u16 = 3;

/// An inode, and the earlier directory that it is added to.
#[derive(Debug, Clone)]
struct Planted {
    parent: Index,
    name: Vec<u8>,
    metadata: Metadata,
    kind: FileKind<Content>,
    /// Further names of the inode, each with its directory.
    links: Vec<(Index, Vec<u8>)>,
}

fn a_name() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), b'!'..b'0', Just(b'.')];
    let short = prop::collection::vec(byte.clone(), 1..12);
    let long = prop::collection::vec(byte, 200..=255);
    prop_oneof![9 => short, 1 => long].prop_filter("a valid name", |name| Name::new(name).is_ok())
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let seconds = prop_oneof![Just(0), -5_000_000_000_i64..5_000_000_000];
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

fn xattrs() -> impl Strategy<Value = Xattrs> {
    let prefix = prop_oneof![Just("user."), Just("trusted."), Just("security.x")];
    let suffix = prop_oneof![9 => "[a-d]", 1 => "[a-z.]{100,200}"];
    let value = prop_oneof![
        6 => prop::collection::vec(0_u8..3, 0..3),
        3 => prop::collection::vec(any::<u8>(), 0..60),
        1 => prop::collection::vec(any::<u8>(), 3000..6000),
    ];
    let free = (prefix, suffix, value)
        .prop_map(|(prefix, suffix, value)| ([prefix, &suffix].concat().into_bytes(), value));
    let capability = (b"security.capability".to_vec(), CAPABILITY.to_vec());
    let one = prop_oneof![8 => free, 1 => Just(capability)];
    prop::collection::btree_map(one.clone().prop_map(|(name, _)| name), one, 0..4)
        .prop_map(|pairs| pairs.into_values().collect())
}

fn content() -> impl Strategy<Value = Content> {
    let piece = (0_u64..3, 1_u64..9, 0..=DEVICES, any::<u8>());
    (prop::collection::vec(piece, 0..5), 0_u64..4096, 0_u64..3).prop_map(|(pieces, cut, hole)| {
        let mut next = 0;
        let pieces: Vec<Piece> = pieces
            .into_iter()
            .map(|(gap, blocks, device, seed)| {
                let file_block = next + gap;
                next = file_block + blocks;
                Piece {
                    file_block,
                    blocks,
                    device,
                    seed,
                }
            })
            .collect();
        let whole_bytes = (next + hole) * 4096;
        Content {
            size_bytes: whole_bytes.saturating_sub(cut),
            pieces,
        }
    })
}

fn kind() -> impl Strategy<Value = FileKind<Content>> {
    let target = prop::collection::vec(1_u8..=255, 1..4096);
    let device = (0_u32..4096, 0_u32..1 << 20).prop_map(|(major, minor)| Device { major, minor });
    prop_oneof![
        4 => content().prop_map(FileKind::Regular),
        3 => Just(directory()),
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
    (any::<Index>(), a_name(), metadata(), kind(), links).prop_map(
        |(parent, name, metadata, kind, links)| Planted {
            parent,
            name,
            metadata,
            kind,
            links,
        },
    )
}

fn tree() -> impl Strategy<Value = Tree<Content>> {
    tree_of(prop_oneof![9 => 0..40_usize, 1 => 200..600_usize])
}

/// Returns trees with a number of inodes from `sizes`, beside the root.
pub(crate) fn tree_of(sizes: impl Strategy<Value = usize>) -> impl Strategy<Value = Tree<Content>> {
    let inodes = sizes.prop_flat_map(|size| prop::collection::vec(planted(), size));
    (metadata(), inodes).prop_map(|(root, inodes)| grow(root, inodes))
}

fn grow(root: Metadata, inodes: Vec<Planted>) -> Tree<Content> {
    let mut tree = Tree::new(root);
    let mut directories = vec![tree.root()];
    for mut planted in inodes {
        let file_type = planted.kind.file_type();
        restrict(&mut planted.metadata, file_type);
        let id = tree.add(fstree::Inode {
            metadata: planted.metadata,
            kind: planted.kind,
        });
        let mut names = vec![(planted.parent, planted.name)];
        if file_type != FileType::Directory {
            names.extend(planted.links);
        }
        for (parent, name) in names {
            let parent = *parent.get(&directories);
            let name = Name::new(&name).unwrap();
            if tree.lookup(parent, name.as_bytes()).is_none() {
                tree.link(parent, name, id);
            }
        }
        if file_type == FileType::Directory {
            directories.push(id);
        }
    }
    tree
}

/// Adds ACLs to inodes that can have them. A symbolic link's mode is fixed.
fn restrict(metadata: &mut Metadata, file_type: FileType) {
    let names: &[&str] = match file_type {
        FileType::Symlink => return metadata.mode = 0o777,
        FileType::Directory => &["system.posix_acl_access", "system.posix_acl_default"],
        _ => &["system.posix_acl_access"],
    };
    if metadata.uid % 3 == 1 {
        let pairs = names.iter().map(|name| (name.as_bytes(), ACL));
        metadata.xattrs.extend(pairs);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_read(tree in tree()) {
        round_trip::check(tree, DEVICES);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn oracle_fsck_agrees(tree in tree()) {
        oracle_fsck::check(&tree, DEVICES);
    }

    #[test]
    fn oracle_kernel_agrees(tree in tree()) {
        oracle_kernel::check(&tree, DEVICES);
    }
}
