//! An independent comparison: two walks over a mounted tree.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// The properties of a file that a process sees, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    is_directory: bool,
    mtime: (i64, i64),
    /// Everything else except the names.
    rest: String,
    inode: Option<u64>,
}

/// Files by path.
pub(super) struct Walk(BTreeMap<Vec<u8>, File>);

impl Walk {
    pub(super) fn new(root: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut open = vec![root.to_owned()];
        while let Some(path) = open.pop() {
            let here = fs::symlink_metadata(&path).expect("there");
            if here.is_dir() {
                let entries = fs::read_dir(&path).expect("listed");
                open.extend(entries.map(|entry| entry.expect("an entry").path()));
            }
            let below = path.strip_prefix(root).expect("below");
            let name = [b"/", below.as_os_str().as_bytes()].concat();
            files.insert(name, File::new(&path, &here));
        }
        Self(files)
    }

    /// Returns the first name of each file that has several.
    fn groups(&self) -> BTreeMap<u64, BTreeSet<&[u8]>> {
        let mut groups: BTreeMap<u64, BTreeSet<&[u8]>> = BTreeMap::new();
        for (path, file) in &self.0 {
            if let Some(inode) = file.inode {
                groups.entry(inode).or_default().insert(path);
            }
        }
        groups
    }

    /// Returns the changes that make `new` of this tree, as `msb diff` prints them.
    pub(super) fn changes(&self, new: &Self) -> Vec<String> {
        let paths: BTreeSet<&Vec<u8>> = self.0.keys().chain(new.0.keys()).collect();
        let mut lines = Vec::new();
        for path in paths {
            let letter = match (self.0.get(path), new.0.get(path)) {
                (None, Some(_)) => 'A',
                (Some(_), None) if new.has_parent(path) => 'D',
                (Some(old), Some(new)) if old.differs(new) => 'C',
                _ => continue,
            };
            lines.push(format!("{letter} {}", String::from_utf8_lossy(path)));
        }
        lines
    }

    /// Returns true if the groups of hard links among these names are the same in both trees.
    pub(super) fn has_groups_of(&self, new: &Self) -> bool {
        let common = |walk: &Self, other: &Self| -> BTreeSet<Vec<Vec<u8>>> {
            let groups = walk.groups();
            let groups = groups.values().map(|names| {
                let kept = names.iter().filter(|name| other.0.contains_key(**name));
                kept.map(|name| name.to_vec()).collect::<Vec<_>>()
            });
            groups.filter(|names| names.len() > 1).collect()
        };
        common(self, new) == common(new, self)
    }

    fn has_parent(&self, path: &[u8]) -> bool {
        let end = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let parent = self.0.get(if end == 0 { &b"/"[..] } else { &path[..end] });
        parent.is_some_and(|parent| parent.is_directory)
    }
}

impl File {
    fn new(path: &Path, here: &fs::Metadata) -> Self {
        let kind = here.file_type();
        let content = if kind.is_file() {
            format!("{:?}", sha2_of(&fs::read(path).expect("read")))
        } else if kind.is_symlink() {
            format!("{:?}", fs::read_link(path).expect("read"))
        } else if kind.is_char_device() || kind.is_block_device() {
            here.rdev().to_string()
        } else {
            String::new()
        };
        let rest = format!(
            "{:o} {}:{} {content} {:?}",
            here.mode(),
            here.uid(),
            here.gid(),
            xattrs(path)
        );
        Self {
            is_directory: here.is_dir(),
            mtime: (here.mtime(), here.mtime_nsec()),
            rest,
            inode: (!here.is_dir() && here.nlink() > 1).then(|| here.ino()),
        }
    }

    fn differs(&self, other: &Self) -> bool {
        let is_later = self.mtime != other.mtime && !(self.is_directory && other.is_directory);
        self.rest != other.rest || is_later
    }
}

fn sha2_of(bytes: &[u8]) -> Vec<u8> {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).to_vec()
}

fn xattrs(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut names = vec![0; 1 << 16];
    let length = rustix::fs::llistxattr(path, &mut names).unwrap_or_default();
    let names = names[..length]
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty());
    names
        .map(|name| {
            let mut value = vec![0; 1 << 16];
            let text = CString::new(name).expect("no NUL");
            let length = rustix::fs::lgetxattr(path, &text, &mut value).expect("read");
            (name.to_vec(), value[..length].to_vec())
        })
        .collect()
}
