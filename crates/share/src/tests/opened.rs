use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use crate::{Share, ShareError};

#[test]
fn what_is_shared_is_what_was_opened() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let directory = root.join("above/shared");
    fs::create_dir_all(&directory).unwrap();
    let inode = fs::metadata(&directory).unwrap().ino();
    let share = Share::open(&directory, false).unwrap();
    fs::rename(root.join("above"), root.join("moved")).unwrap();
    assert_eq!(fs::metadata(share.path()).unwrap().ino(), inode);
    symlink("moved", root.join("above")).unwrap();
    let refused = Share::open(&directory, false).unwrap_err();
    assert!(matches!(refused, ShareError::Open { .. }), "{refused}");
}
