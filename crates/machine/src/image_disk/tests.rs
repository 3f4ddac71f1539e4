use std::error::Error as _;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use image_store::tree;
use served_disk::Disk as _;
use tempfile::TempDir;

use super::*;

const BLOCK: usize = 4096;

/// Two artifacts with their trees, of three blocks and of two.
struct Artifacts {
    directory: TempDir,
    extents: Vec<DiskExtent>,
}

impl Artifacts {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let artifact = |(name, blocks): (&str, usize)| {
            let file = directory.path().join(name).with_extension("erofs");
            let tree = tree::path(&file);
            let byte = name.as_bytes()[0];
            std::fs::write(&file, vec![byte; blocks * BLOCK]).expect("written");
            let (_, blake3, size_bytes) = tree::write(&file, &tree).expect("a tree");
            DiskExtent {
                file,
                size_bytes,
                blake3,
                offset_bytes: 0,
                length_bytes: size_bytes,
            }
        };
        let extents = [("a", 3), ("b", 2)].map(artifact).to_vec();
        Self { directory, extents }
    }

    fn open(&self) -> Result<Extents, ImageDiskError> {
        open_extents(&self.extents, &Layout::new(self.directory.path()))
    }

    /// Packs an artifact, so that only its packed form is left.
    fn pack(&self, name: &str) {
        let path = |extension| self.directory.path().join(name).with_extension(extension);
        let plain = std::fs::read(path("erofs")).expect("read");
        let packed = File::create(path("packed")).expect("made");
        packed_file::pack(&plain[..], packed).expect("packed");
        std::fs::remove_file(path("erofs")).expect("removed");
    }

    /// Flips a bit of a file.
    fn flip(&self, name: &str, offset_bytes: u64) {
        let path = self.directory.path().join(name);
        let mut to_change = File::options();
        let file = to_change.read(true).write(true).open(path).expect("opened");
        let mut byte = [0];
        file.read_exact_at(&mut byte, offset_bytes).expect("read");
        byte[0] ^= 1;
        file.write_all_at(&byte, offset_bytes).expect("written");
    }
}

#[test]
fn extents_are_one_disk_and_a_changed_block_is_an_error() {
    let artifacts = Artifacts::new();
    let mut disk = artifacts.open().expect("opened");
    let expected = [vec![b'a'; 3 * BLOCK], vec![b'b'; 2 * BLOCK]].concat();
    assert_eq!(disk.size_bytes(), expected.len() as u64);
    let mut read = vec![0; expected.len()];
    disk.read(&mut read, 0).expect("read");
    assert!(read == expected);

    artifacts.flip("b.erofs", 5000);
    let mut block = [0xEE; BLOCK];
    disk.read(&mut block, 4 * BLOCK as u64)
        .expect_err("changed");
    assert_eq!(block, [0; BLOCK]);
    disk.read(&mut block, 3 * BLOCK as u64).expect("as it was");
    assert_eq!(block, [b'b'; BLOCK]);
    artifacts.flip("b.erofs", 5000);
    disk.read(&mut block, 4 * BLOCK as u64).expect("mended");
    assert_eq!(block, [b'b'; BLOCK]);
}

#[test]
fn a_packed_extent_is_read_through_its_cache_file() {
    let artifacts = Artifacts::new();
    artifacts.pack("b");
    let mut disk = artifacts.open().expect("opened");
    let mut block = [0; BLOCK];
    for _ in 0..2 {
        disk.read(&mut block, 4 * BLOCK as u64).expect("read");
        assert_eq!(block, [b'b'; BLOCK]);
        // What the cache file has is proven, and fetched again if it is wrong.
        artifacts.flip("b.cache", 5000);
    }
    artifacts.flip("b.packed", 0);
    let mut disk = artifacts.open().expect("its end is intact");
    disk.read(&mut block, 3 * BLOCK as u64).expect("cached");
    assert_eq!(block, [b'b'; BLOCK]);
    disk.read(&mut block, 4 * BLOCK as u64)
        .expect_err("neither");
}

#[test]
fn a_file_of_another_length_and_a_tree_of_another_file_are_refused_by_name() {
    let refusal = |change: fn(&mut Artifacts)| {
        let mut artifacts = Artifacts::new();
        change(&mut artifacts);
        let error = artifacts.open().expect_err("refused");
        let causes = successors(error.source(), |&cause| cause.source());
        let causes: String = causes.map(|cause| format!(": {cause}")).collect();
        format!("{error}{causes}")
    };
    let flipped = refusal(|artifacts| artifacts.flip("b.tree", 40));
    assert!(flipped.contains("b.tree is corrupt"), "{flipped}");
    let exchanged = refusal(|artifacts| {
        let [a, b] = ["a.tree", "b.tree"].map(|name| artifacts.directory.path().join(name));
        std::fs::copy(b, a).expect("copied");
    });
    assert!(exchanged.contains("a.tree is corrupt"), "{exchanged}");
    let missing = refusal(|artifacts| {
        std::fs::remove_file(artifacts.directory.path().join("a.tree")).expect("removed");
    });
    assert!(missing.contains("a.tree"), "{missing}");
    let longer = refusal(|artifacts| {
        std::fs::write(&artifacts.extents[0].file, [b'a'; 4 * BLOCK]).expect("written");
    });
    assert!(
        longer.contains("a.erofs is corrupt: it has 16384 bytes"),
        "{longer}"
    );
    let beyond = refusal(|artifacts| artifacts.extents[1].length_bytes += 1);
    assert!(beyond.contains("does not lie in its file"), "{beyond}");
}
