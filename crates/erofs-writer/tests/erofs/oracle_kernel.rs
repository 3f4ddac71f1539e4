//! The kernel of this machine shows the tree that was written.

use fstree::{Device, FileKind, FileType, Tree};

use crate::model::{Built, Content};
use crate::mounted::{Mounted, Seen};
use crate::samples;

/// Mounts the image with its devices behind it, and compares every path.
pub(crate) fn check(tree: &Tree<Content>, devices: u16) {
    let built = Built::write(tree.clone(), devices);
    compare(&Mounted::new(&built.flat()), tree);
}

fn compare(mounted: &Mounted, tree: &Tree<Content>) {
    let expected = expected(tree);
    let seen = mounted.walk();
    for (seen, expected) in seen.iter().zip(&expected) {
        let path = expected.path.escape_ascii();
        assert!(seen.content == expected.content, "content of {path}");
        assert_eq!(Head(seen), Head(expected), "{path}");
    }
    assert_eq!(seen.len(), expected.len());
}

/// A line whose debug output has no content.
#[derive(Debug, PartialEq)]
struct Head<'a>(&'a Seen);

fn expected(tree: &Tree<Content>) -> Vec<Seen> {
    let links = tree.link_counts();
    let mut all: Vec<Seen> = tree
        .walk()
        .map(|entry| {
            let metadata = &entry.inode.metadata;
            let kind = entry.inode.kind.file_type();
            let has_user_xattrs = matches!(kind, FileType::Regular | FileType::Directory);
            let mut xattrs = metadata.xattrs.clone();
            xattrs.retain(|name, _| has_user_xattrs || !name.starts_with(b"user."));
            let (content, target) = match &entry.inode.kind {
                FileKind::Regular(content) => (content.bytes(), Vec::new()),
                FileKind::Symlink(target) => (Vec::new(), target.to_vec()),
                _ => Default::default(),
            };
            let device = match entry.inode.kind {
                FileKind::CharDevice(device) | FileKind::BlockDevice(device) => device,
                _ => Device { major: 0, minor: 0 },
            };
            let length = u64::try_from(content.len() + target.len()).unwrap();
            Seen {
                path: entry.path,
                st_mode: entry.inode.st_mode().into(),
                owner: (metadata.uid, metadata.gid),
                size_bytes: (kind != FileType::Directory).then_some(length),
                mtime: metadata.mtime,
                device: (device.major, device.minor),
                links: links[entry.id.index()],
                xattrs,
                target,
                content,
            }
        })
        .collect();
    all.sort_by(|one, other| one.path.cmp(&other.path));
    all
}

#[test]
fn oracle_kernel_one_of_each() {
    check(&samples::one_of_each(), 0);
}

#[test]
fn oracle_kernel_extremes() {
    check(&samples::extremes(), 0);
}

#[test]
fn oracle_kernel_on_devices() {
    check(&samples::on_devices(), 3);
    check(&samples::on_devices(), 30);
}

#[test]
fn oracle_kernel_on_devices_apart() {
    let tree = samples::on_devices();
    let built = Built::write(tree.clone(), 3);
    compare(&Mounted::apart(&built.image, &built.devices), &tree);
}

#[test]
fn oracle_kernel_inode_numbers_are_never_zero() {
    use std::os::unix::fs::MetadataExt;
    let built = Built::write(samples::one_of_each(), 0);
    let mounted = Mounted::new(&built.image);
    assert_ne!(std::fs::metadata(mounted.root()).unwrap().ino(), 0);
}
