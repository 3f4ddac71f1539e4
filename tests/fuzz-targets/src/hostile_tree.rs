//! The files of a writable disk as a hostile guest may leave them: the input chooses them, with the attributes of
//! overlayfs in any combination.

use fstree::{Device, FileKind, Inode, InodeId, Metadata, Name, Tree};

/// Most files of a disk.
const FILES: usize = 200;

/// Bytes of the input that describe one file. The numbers choose among what is there.
const FILE_BYTES: usize = 11;
type File = [u8; FILE_BYTES];

/// The directories of a disk, and the values that its files are made of.
pub(crate) struct Shape<'a> {
    /// The directories that every such disk has, parents before children.
    pub(crate) directories: &'a [&'a str],
    /// The directories that files are put into at first. One that is listed more often gets more of them.
    pub(crate) parents: &'a [&'a str],
    /// The names of the files.
    pub(crate) names: &'a [&'a [u8]],
    /// The targets of symlinks.
    pub(crate) links: &'a [&'a [u8]],
    /// The names of xattrs.
    pub(crate) xattrs: &'a [&'a [u8]],
    /// The values of xattrs.
    pub(crate) values: &'a [&'a [u8]],
}

impl Shape<'_> {
    /// Returns the tree of the disk that the input describes.
    pub(crate) fn tree(&self, input: &[u8]) -> Tree<Vec<u8>> {
        let mut tree = Tree::new(Metadata::directory(0o755));
        for &path in self.directories {
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
            let above = tree.find(above.as_bytes()).expect("a parent comes first");
            let id = tree.add(Inode::directory(Metadata::directory(0o755)));
            tree.link(above, Name::new(name.as_bytes()).expect("a name"), id);
        }
        let parents = self.parents.iter();
        let parents =
            parents.map(|path| tree.find(path.as_bytes()).expect("one of the directories"));
        let mut directories: Vec<InodeId> = parents.collect();
        let mut others = Vec::new();
        let (files, _) = input.as_chunks::<FILE_BYTES>();
        for file in files.iter().take(FILES) {
            let parent = chosen(&directories, file[0]);
            let name = Name::new(chosen(self.names, file[1])).expect("a name");
            if tree.lookup(parent, name.as_bytes()).is_some() {
                continue;
            }
            let Some(id) = self.add(&mut tree, file, &others) else {
                continue;
            };
            tree.link(parent, name, id);
            match tree.inode(id).kind {
                FileKind::Directory(_) => directories.push(id),
                _ => others.push(id),
            }
        }
        tree
    }

    fn add(&self, tree: &mut Tree<Vec<u8>>, file: &File, others: &[InodeId]) -> Option<InodeId> {
        let &[_, _, kind, number, mode, bits, mtime, ref xattrs @ ..] = file;
        let device = |major| FileKind::CharDevice(Device { major, minor: 0 });
        let kind = match kind % 12 {
            0..3 => FileKind::Directory(Default::default()),
            3 | 4 => FileKind::Regular(vec![number; number.into()]),
            5 => FileKind::Regular(vec![0; usize::from(number) << 13]),
            6 => FileKind::Symlink(chosen(self.links, number).into()),
            7 => device(0),
            8 => device(number.into()),
            9 => FileKind::Fifo,
            10 => FileKind::Socket,
            _ if others.is_empty() => return None,
            _ => return Some(chosen(others, number)),
        };
        let mut metadata = Metadata::with_mode(u16::from_le_bytes([mode, bits]) & 0o7777);
        metadata.mtime.seconds = mtime.into();
        let (xattrs, _) = xattrs.as_chunks::<2>();
        for &[name, value] in xattrs {
            // Half of them have none.
            if name % 2 == 0 {
                let value = chosen(self.values, value);
                metadata.xattrs.insert(chosen(self.xattrs, name / 2), value);
            }
        }
        Some(tree.add(Inode { metadata, kind }))
    }
}

fn chosen<T: Copy>(from: &[T], number: u8) -> T {
    from[usize::from(number) % from.len()]
}
