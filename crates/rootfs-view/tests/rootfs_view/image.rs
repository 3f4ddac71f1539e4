//! The disks of a sandbox: an image with one of everything, and an empty upper disk.

use std::fs::File;
use std::path::Path;

use erofs_writer::{ImageWriter, OutputFile};
use fstree::{Device, FileData, FileKind, Inode, InodeId, Metadata, Name, Tree, Xattrs};

pub(crate) fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

struct Builder {
    tree: Tree<FileData>,
    writer: ImageWriter<OutputFile>,
}

impl Builder {
    fn add(&mut self, parent: InodeId, label: &str, kind: FileKind<FileData>) -> InodeId {
        let mut metadata = Metadata::with_mode(0o755);
        metadata.mtime.seconds = 1_600_000_000;
        metadata.xattrs = Xattrs::from_iter([("trusted.note", label)]);
        let id = self.tree.add(Inode { metadata, kind });
        self.tree.link(parent, name(label), id);
        id
    }

    fn file(&mut self, parent: InodeId, label: &str, length: usize) -> InodeId {
        let content: Vec<u8> = label.bytes().cycle().take(length).collect();
        let size_bytes = length as u64;
        let run = self
            .writer
            .append(&mut &content[..], size_bytes)
            .expect("written");
        let data = run.map_or_else(FileData::default, |run| run.whole_file(size_bytes));
        self.add(parent, label, FileKind::Regular(data))
    }

    fn directory(&mut self, parent: InodeId, label: &str) -> InodeId {
        self.add(parent, label, FileKind::Directory(Default::default()))
    }
}

/// Writes `fsmeta.erofs` and `upper.ext4` to a directory.
pub(crate) fn write_disks(disks: &Path) {
    let options = erofs_writer::Options {
        uuid: *b"an image's UUID.",
        ..Default::default()
    };
    let file = create(&disks.join("fsmeta.erofs"));
    let mut root = Metadata::directory(0o755);
    root.mtime.seconds = 1_500_000_000;
    let mut builder = Builder {
        tree: Tree::new(root.clone()),
        writer: ImageWriter::new(OutputFile::new(file).expect("readable"), options).expect("begun"),
    };
    fill(&mut builder);
    builder.writer.finish(&builder.tree).expect("written");

    let mut upper: Tree<Vec<u8>> = Tree::new(Metadata::directory(0o755));
    for (label, metadata) in [("upper", root), ("work", Metadata::directory(0o700))] {
        let id = upper.add(Inode::directory(metadata));
        upper.link(upper.root(), name(label), id);
    }
    let options = ext4_writer::Options {
        size_bytes: 64 << 20,
        uuid: *b"an upper's UUID.",
        hash_seed: [7; 16],
        ..Default::default()
    };
    let file = create(&disks.join("upper.ext4"));
    ext4_writer::write(&upper, &options, &file).expect("written");
}

fn create(path: &Path) -> File {
    File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .expect("created")
}

fn fill(builder: &mut Builder) {
    let root = builder.tree.root();
    for (outer, depth) in [("a", 3), ("b", 2), ("c", 1)] {
        let mut parent = builder.directory(root, outer);
        for level in 0..depth {
            for (label, length) in [("f", 5000), ("g", 12), ("h", 0)] {
                builder.file(parent, &format!("{label}{level}"), length);
            }
            builder.add(parent, "l", FileKind::Symlink(b"../f0".as_slice().into()));
            builder.add(parent, "p", FileKind::Fifo);
            parent = builder.directory(parent, "d");
        }
    }
    let shared = builder.file(root, "shared", 9000);
    for directory in ["a", "b/d", "c"] {
        let id = builder.tree.find(directory.as_bytes()).expect("made");
        for label in ["s1", "s2"] {
            builder.tree.link(id, name(label), shared);
        }
    }
    builder.add(
        root,
        "null",
        FileKind::CharDevice(Device { major: 1, minor: 3 }),
    );
    builder.add(
        root,
        "gone",
        FileKind::CharDevice(Device { major: 0, minor: 0 }),
    );
}
