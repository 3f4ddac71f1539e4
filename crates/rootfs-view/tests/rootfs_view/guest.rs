//! Random changes that a guest makes to its files.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags};

/// The generator xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).expect("31 bits") % limit
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        (!from.is_empty()).then(|| &from[self.below(from.len())])
    }
}

/// Returns the paths of all directories below a directory, including itself, and of all other
/// files.
fn names(root: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut directories, mut others) = (vec![root.to_owned()], Vec::new());
    let mut next = 0;
    while let Some(directory) = directories.get(next) {
        next += 1;
        let mut found: Vec<PathBuf> = fs::read_dir(directory)
            .expect("listed")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        found.sort();
        for path in found {
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => directories.push(path),
                Ok(_) => others.push(path),
                // A device 0:0 of the image is sometimes listed, but never found.
                Err(_) => {}
            }
        }
    }
    (directories, others)
}

/// Makes one change. Returns true if the kernel allowed it.
pub(crate) fn change(root: &Path, random: &mut Random) -> bool {
    const NAMES: [&str; 8] = ["a", "d", "f0", "g0", "l", "new", "s1", "x"];
    let (directories, others) = names(root);
    let parent = random.pick(&directories).cloned().expect("the root");
    let new = parent.join(NAMES[random.below(NAMES.len())]);
    let file = random.pick(&others).cloned().unwrap_or(new.clone());
    let directory = random
        .pick(&directories[1..])
        .cloned()
        .unwrap_or(new.clone());
    let is_regular = fs::symlink_metadata(&file).is_ok_and(|metadata| metadata.is_file());
    let length = random.below(20_000);
    match random.below(18) {
        0 | 1 => fs::create_dir(&new).is_ok(),
        2 => File::create_new(&new)
            .and_then(|made| made.write_all_at(&vec![b'n'; length], 0))
            .is_ok(),
        3 if is_regular => File::options()
            .write(true)
            .open(&file)
            .and_then(|made| made.write_all_at(b"changed", length as u64))
            .is_ok(),
        4 if is_regular => File::options()
            .write(true)
            .open(&file)
            .and_then(|made| made.set_len(length as u64))
            .is_ok(),
        5 if is_regular => chmod(&file, random),
        6 => chmod(&directory, random),
        7 => chown(&file, Some(5), Some(6)).is_ok(),
        8 | 9 => fs::remove_file(&file).is_ok(),
        10 => fs::remove_dir_all(&directory).is_ok(),
        11 | 12 => directory != new && fs::rename(&directory, &new).is_ok(),
        13 => fs::rename(&file, &new).is_ok(),
        14 | 15 => fs::hard_link(&file, &new).is_ok(),
        16 => symlink("elsewhere", &new).is_ok(),
        _ => {
            if is_regular {
                rustix::fs::setxattr(&file, "user.mark", b"here", XattrFlags::empty()).is_ok()
            } else {
                rustix::fs::mknodat(CWD, &new, FileType::Fifo, Mode::RUSR, 0).is_ok()
            }
        }
    }
}

fn chmod(path: &Path, random: &mut Random) -> bool {
    let mode = [0o700, 0o4711, 0o1777][random.below(3)];
    fs::set_permissions(path, Permissions::from_mode(mode)).is_ok()
}
