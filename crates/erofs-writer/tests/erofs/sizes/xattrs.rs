use std::io::Cursor;

use erofs_writer::{FileData, Image, ImageWriter, Options};
use fstree::{FileKind, Inode, Metadata, Tree};
use rustix::fs::{lgetxattr, llistxattr};
use rustix::io::Errno;

use super::Mounted;
use crate::samples::name;

/// A number of names whose list exceeds the kernel's limit (`XATTR_LIST_MAX`, 65,536 bytes).
const MANY: usize = 300;

/// Returns a name of the kernel's largest length (`XATTR_NAME_MAX`): 255 bytes with its prefix.
fn long_name(number: usize) -> String {
    format!("trusted.{number:0>247}")
}

/// Tests more names than the kernel lists: they are stored, and can be read one by one.
pub(super) fn more_than_a_list() -> String {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let mut metadata = Metadata::with_mode(0o644);
    metadata.xattrs = (0..MANY)
        .map(|number| (long_name(number), [7; 64]))
        .collect();
    let id = tree.add(Inode {
        metadata,
        kind: FileKind::Regular(FileData::default()),
    });
    tree.link(tree.root(), name("many"), id);
    let writer = ImageWriter::new(Cursor::new(Vec::new()), Options::default()).unwrap();
    let image = writer.finish(&tree).unwrap().0.into_inner();
    assert_eq!(
        Image::open(image.as_slice()).unwrap().read_tree().unwrap(),
        tree
    );
    let mounted = Mounted::new(&image);
    let path = mounted.root().join("many");
    let listed = llistxattr(&path, &mut vec![0; 1 << 17][..]);
    assert_eq!(listed, Err(Errno::TOOBIG));
    for number in 0..MANY {
        let mut value = [0; 100];
        assert_eq!(lgetxattr(&path, long_name(number), &mut value[..]), Ok(64));
        assert_eq!(value[..64], [7; 64]);
    }
    // EROFS stores 255 bytes behind the prefix; the kernel refuses a request for such a name.
    let too_long = format!("{}x", long_name(0));
    let read = lgetxattr(&path, too_long, &mut [0; 100][..]);
    assert_eq!(read, Err(Errno::RANGE));
    format!("{MANY} xattrs with names of 255 bytes: the kernel reads each and lists none\n")
}
