//! The disk of a native root, made over a layer, changed, and written anew.

use ext4_writer::Layout;
use fs_err as fs;
use fstree::{FileKind, Inode, Metadata, TreeBuilder};
use generations::{BLOCK_BYTES, DiskId, Pool};
use msb_runtime::{Home, NewDisk, Sandbox, add_staged, upper_options};

use super::*;
use crate::discard::tests::image;
use crate::disks::{Lower, open_upper};
use testkit::sandboxes;

const SIZE_BYTES: u64 = 64 << 20;
const BLOCK: usize = 4096;
/// The bytes of the last block of a file that lie behind its end.
const BEHIND: usize = 100;

/// A sandbox with a native root that never ran.
struct Bench {
    _root: tempfile::TempDir,
    sandbox: Sandbox,
    layer: Vec<u8>,
}

/// Returns a file that lies in a layer.
fn outside(start_block: u32, blocks: u64) -> DiskFile {
    let extent = Extent {
        file_block: 0,
        blocks,
        device: 1,
        start_block,
    };
    DiskFile::Outside {
        size_bytes: blocks * BLOCK_BYTES - 100,
        extents: vec![extent],
    }
}

impl Bench {
    /// Makes the disk, and changes a file of the layer on it.
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let pattern = (0..40_u64 * BLOCK_BYTES).map(|at| (at / 5 % 251).to_le_bytes()[0]);
        let layer: Vec<u8> = pattern.collect();
        let path = root.path().join("layer");
        fs::write(&path, &layer).expect("written");
        let mut spec = sandboxes::spec("native");
        spec.native_root = true;
        spec.upper_bytes = SIZE_BYTES;
        let sandbox = sandboxes::sandbox(&Home::new(root.path().join("home")), spec);

        let mut builder = TreeBuilder::new(Metadata::directory(0o755));
        for (name, file) in [
            ("kept", outside(5, 4)),
            ("edited", outside(20, 2)),
            ("new", DiskFile::Bytes(b"new".to_vec())),
        ] {
            let metadata = Metadata::with_mode(0o644);
            builder.file(name, metadata, file).expect("new");
        }
        let mut tree = with_native_root(builder.finish());
        add_staged(&mut tree, 1, |_, tree| {
            tree.add(Inode::directory(Metadata::directory(0o700)))
        });
        let file = BlockFile {
            path,
            size_bytes: 40 * BLOCK_BYTES,
            blake3: [7; 32],
        };
        let upper = NewUpper {
            tree,
            outside: vec![file],
        };
        let options = upper_options(&sandbox.spec, SIZE_BYTES);
        let layout = Layout::new(&upper.tree, &options).expect("laid out");
        let base = upper.base(layout.outside(), SIZE_BYTES).expect("a base");
        let storage = FileStorage::open(&sandbox.files.generations()).expect("made");
        let pool = Pool::new(storage);
        let id = DiskId::from_bytes(*b"msb's upper disk").expect("an identifier");
        pool.create_over(id, &base).expect("made");
        let mut disk = pool.open_disk(id).expect("opened");
        layout.write(NewDisk(&mut disk)).expect("written");
        let Base::FileBlocks(blocks) = base else {
            panic!("no blocks of files");
        };
        let mut runs = blocks.runs.iter();
        let edited = runs.find(|run| run.file_block == 20).expect("a run");
        let at = edited.first_block * BLOCK_BYTES;
        disk.write(b"changed", at).expect("written");
        disk.flush().expect("durable");
        Self {
            _root: root,
            sandbox,
            layer,
        }
    }

    fn open(&self) -> Arc<Disks> {
        let upper = open_upper(&self.sandbox).expect("a disk");
        let image = DiskReader::File(Arc::new(image()));
        let view = View::open_native(upper, image, Vec::new(), 1 << 30).expect("a root");
        Arc::new(Disks::of_lower(view, Lower::Staged((0, 0))))
    }

    /// Checks the content of all files.
    fn check(&self, disks: &Disks) {
        let mut edited = self.layer[20 * BLOCK..22 * BLOCK - BEHIND].to_vec();
        edited[..7].copy_from_slice(b"changed");
        for (path, expected) in [
            ("kept", &self.layer[5 * BLOCK..9 * BLOCK - BEHIND]),
            ("edited", &edited[..]),
            ("new", &b"new"[..]),
        ] {
            let tree = disks.view.tree();
            let id = tree.find(path.as_bytes()).expect("there");
            let FileKind::Regular(content) = &tree.inode(id).kind else {
                panic!("{path} is no regular file");
            };
            let mut bytes = vec![0; usize::try_from(content.size_bytes()).expect("small")];
            let read = disks.view.read_at(content, 0, &mut bytes);
            read.expect("readable");
            assert!(bytes == expected, "{path}");
        }
    }
}

#[test]
fn files_of_a_native_root_stay_in_the_layers_unless_they_were_changed() {
    let bench = Bench::new();
    for _ in 0..2 {
        let disks = bench.open();
        bench.check(&disks);
        let discarding = Discarding::new(&bench.sandbox);
        let upper = discarding.with_native_root(&disks).expect("read");
        let is_outside = |path: &str| {
            let id = upper.tree.find(path.as_bytes()).expect(path);
            let kind = &upper.tree.inode(id).kind;
            matches!(kind, FileKind::Regular(DiskFile::Outside { .. }))
        };
        let found = ["upper/kept", "upper/edited", "upper/new"].map(is_outside);
        assert_eq!(found, [true, false, false]);
        assert!(upper.tree.find(b"staged").is_none(), "the old changes");

        let pool = UpperPool::existing(&bench.sandbox.files).expect("a pool");
        let written = discarding.write_upper(upper, &pool, disks, None);
        written.expect("written");
        let base = pool.base().expect("read");
        let Some(Base::FileBlocks(blocks)) = base else {
            panic!("the layers are no base any more");
        };
        let counts = blocks.runs.iter().map(|run| run.count);
        assert_eq!(counts.sum::<u64>(), 4);
    }
    bench.check(&bench.open());
}
