//! Artifacts in their forms, compared with their plain bytes.

mod model;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use artifact_file::{ArtifactFile, OpenError, Opening, Verify, cache_path, packed_path, tree_path};
use block_tree::{Content, TreeWriter};
use fstree::ReadAt as _;
use tempfile::TempDir;

const PROOFS: [Verify; 3] = [Verify::Owner, Verify::TreeIfPresent, Verify::Tree];

/// Makes a file that its writer also reads.
fn made(path: &Path) -> File {
    let mut options = File::options();
    let made = options.read(true).write(true).create(true).truncate(true);
    made.open(path).expect("made")
}

/// An artifact in a directory of its own.
struct Stored {
    _directory: TempDir,
    path: PathBuf,
    plain: Vec<u8>,
    content: Content,
}

impl Stored {
    /// Stores an artifact in its plain form, with its tree.
    fn new(plain: Vec<u8>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("layer.erofs");
        fs::write(&path, &plain).expect("written");
        let tree = made(&tree_path(&path));
        let mut writer = TreeWriter::new(tree).expect("begun");
        writer.update(&plain).expect("written");
        let (_, content) = writer.finish().expect("finished");
        Self {
            _directory: directory,
            path,
            plain,
            content,
        }
    }

    fn pack(&self) {
        let packed = made(&packed_path(&self.path));
        packed_file::pack(&self.plain[..], packed).expect("packed");
        fs::remove_file(&self.path).expect("removed");
    }

    fn unpack(&self) {
        fs::write(&self.path, &self.plain).expect("written");
        fs::remove_file(packed_path(&self.path)).expect("removed");
    }

    fn open(&self, verify: Verify) -> Result<ArtifactFile, OpenError> {
        Opening::new(&self.path, self.content)
            .verified(verify)
            .open()
    }

    /// Checks that all bytes are right, at once and in pieces.
    fn expect_all(&self, file: &ArtifactFile) {
        assert_eq!(file.size_bytes().expect("known"), self.content.length_bytes);
        let mut read = vec![0; self.plain.len()];
        file.read_exact_at(&mut read, 0).expect("read");
        assert!(read == self.plain);
        for (number, piece) in read.chunks_mut(10_007).enumerate() {
            piece.fill(0);
            let offset_bytes = u64::try_from(number * 10_007).expect("small");
            file.read_exact_at(piece, offset_bytes).expect("read");
        }
        assert!(read == self.plain);
        let end = file.read_exact_at(&mut [0; 2], self.content.length_bytes - 1);
        assert_eq!(
            end.expect_err("beyond").kind(),
            io::ErrorKind::UnexpectedEof
        );
    }
}

/// Returns bytes with a run of zeros and parts that compress badly.
fn bytes(length: usize) -> Vec<u8> {
    let noise = (0..length).map(|index| {
        let mixed = index.wrapping_mul(2_654_435_761) >> 11;
        u8::try_from(mixed % 251).expect("less than 251")
    });
    let mut bytes: Vec<u8> = noise.collect();
    if let Some(zeros) = bytes.get_mut(70_000..150_000) {
        zeros.fill(0);
    }
    bytes
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("read");
    let at = at % bytes.len();
    bytes[at] ^= 1;
    fs::write(path, bytes).expect("written");
}

#[test]
fn every_form_and_proof_gives_the_same_bytes() {
    for length in [1, 4095, 4096, 4097, 65_535, 65_536, 65_537, 300_000] {
        let stored = Stored::new(bytes(length));
        for verify in PROOFS {
            let file = stored.open(verify).expect("plain");
            assert!(!file.is_packed());
            stored.expect_all(&file);
        }
        stored.pack();
        for verify in PROOFS {
            let file = stored.open(verify).expect("packed");
            assert!(file.is_packed());
            stored.expect_all(&file);
            stored.expect_all(&file);
        }
    }
}

#[test]
fn only_reads_that_are_verified_fill_a_cache_file() {
    let stored = Stored::new(bytes(300_000));
    stored.pack();
    stored.expect_all(&stored.open(Verify::Owner).expect("packed"));
    assert!(!cache_path(&stored.path).exists());
    stored.expect_all(&stored.open(Verify::Tree).expect("packed"));
    let cache = fs::read(cache_path(&stored.path)).expect("made");
    assert!(cache == stored.plain);
}

#[test]
fn without_a_tree_groups_are_proven_by_the_packed_form() {
    let stored = Stored::new(bytes(300_000));
    stored.pack();
    fs::remove_file(tree_path(&stored.path)).expect("removed");
    let error = stored.open(Verify::Tree).expect_err("it has to exist");
    assert!(matches!(error, OpenError::Io { path, .. } if path == tree_path(&stored.path)));
    let file = stored.open(Verify::TreeIfPresent).expect("packed");
    stored.expect_all(&file);
    flip(&cache_path(&stored.path), 100_000);
    stored.expect_all(&file);
}

#[test]
fn an_open_artifact_stays_when_its_form_changes() {
    let stored = Stored::new(bytes(300_000));
    let plain = PROOFS.map(|verify| stored.open(verify).expect("plain"));
    stored.pack();
    let packed = PROOFS.map(|verify| stored.open(verify).expect("packed"));
    plain.iter().for_each(|file| stored.expect_all(file));
    stored.unpack();
    fs::remove_file(cache_path(&stored.path)).expect("removed");
    packed.iter().for_each(|file| stored.expect_all(file));
}

#[test]
fn a_cache_file_that_cannot_be_made_fails_no_read() {
    let stored = Stored::new(bytes(300_000));
    stored.pack();
    fs::create_dir(cache_path(&stored.path)).expect("made");
    for verify in PROOFS {
        stored.expect_all(&stored.open(verify).expect("packed"));
    }
}

#[test]
fn a_file_that_is_not_the_artifact_is_refused_by_name() {
    let stored = Stored::new(bytes(300_000));
    let other = Content {
        length_bytes: stored.content.length_bytes,
        blake3: [7; 32],
    };
    stored.pack();
    let error = Opening::new(&stored.path, other).open().expect_err("other");
    assert!(matches!(&error, OpenError::Packed { path, .. } if *path == packed_path(&stored.path)));
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidData);
    let short = Content {
        length_bytes: 299_999,
        ..stored.content
    };
    let error = Opening::new(&stored.path, short).open().expect_err("short");
    assert!(
        matches!(
            error,
            OpenError::Length {
                actual_bytes: 300_000,
                ..
            }
        ),
        "{error}"
    );
    fs::remove_file(packed_path(&stored.path)).expect("removed");
    let error = stored.open(Verify::Owner).expect_err("neither");
    assert!(matches!(&error, OpenError::Io { path, .. } if *path == stored.path));
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_flipped_byte_of_the_packed_form_gives_no_wrong_byte() {
    let stored = Stored::new(bytes(300_000));
    stored.pack();
    let packed = packed_path(&stored.path);
    let whole = fs::read(&packed).expect("read");
    let mut refused = 0;
    for at in (0..whole.len()).step_by(whole.len() / 200) {
        flip(&packed, at);
        for verify in PROOFS {
            let _ = fs::remove_file(cache_path(&stored.path));
            let mut read = vec![7; stored.plain.len()];
            let done = stored.open(verify).map_err(io::Error::from);
            let done = done.and_then(|file| file.read_exact_at(&mut read, 0));
            refused += usize::from(done.is_err());
            assert!(done.is_err() || read == stored.plain, "{verify:?} at {at}");
        }
        fs::write(&packed, &whole).expect("written");
    }
    assert!(refused > 300, "{refused}");
}
