use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::{Entry, Kind, Share, ShareError};

fn open(path: &Path, kind: Kind) -> Result<Share, ShareError> {
    let name = "0";
    Share::open(&[Entry { name, path, kind }], false)
}

#[test]
fn what_is_shared_is_what_was_opened() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let directory = root.join("above/shared");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("file"), "").unwrap();
    for (path, kind) in [
        (directory.clone(), Kind::Directory),
        (directory.join("file"), Kind::File),
    ] {
        let inode = fs::metadata(&path).unwrap().ino();
        let share = open(&path, kind).unwrap();
        fs::rename(root.join("above"), root.join("moved")).unwrap();
        let (opened, _) = share.paths().next().unwrap();
        assert_eq!(fs::metadata(opened).unwrap().ino(), inode);
        symlink("moved", root.join("above")).unwrap();
        let refused = open(&path, kind).unwrap_err();
        let cause = std::error::Error::source(&refused).unwrap().to_string();
        assert!(cause.contains("symbolic links"), "{cause}");
        fs::remove_file(root.join("above")).unwrap();
        fs::rename(root.join("moved"), root.join("above")).unwrap();
    }
}

#[test]
fn only_a_regular_file_is_one() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, root.join("fifo"), FileType::Fifo, mode, 0).unwrap();
    fs::write(root.join("file"), "").unwrap();
    symlink("file", root.join("link")).unwrap();
    for name in ["fifo", "link", "missing", "."] {
        for kind in [Kind::File, Kind::Disk] {
            assert!(open(&root.join(name), kind).is_err(), "{name}");
        }
    }
    open(&root.join("file"), Kind::Directory).unwrap_err();
    open(&root.join("file"), Kind::File).unwrap();
}
