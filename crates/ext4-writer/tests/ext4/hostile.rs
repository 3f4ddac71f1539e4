//! Damaged images: reading may fail or succeed, but neither panics nor runs past a time limit.

use std::fmt;
use std::fs;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use ext4_writer::Image;
use fstree::FileKind;
use proptest::prelude::*;

use crate::image;
use crate::mounted::succeed;
use crate::sample::one_of_each;

/// Time limit for reading any image, however it is damaged.
const TIMEOUT: Duration = Duration::from_secs(300);

/// An output that discards its text.
struct Nowhere;

impl fmt::Write for Nowhere {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}

/// Reads the whole image, and content up to 1 MiB a file. Returns true if nothing failed but
/// content.
fn read_everything(bytes: &[u8]) -> bool {
    let begun = Instant::now();
    let Ok(image) = Image::open(bytes) else {
        return false;
    };
    let tree = image.read_tree();
    if let Ok(tree) = &tree {
        for entry in tree.walk() {
            if let FileKind::Regular(data) = &entry.inode.kind
                && data.size_bytes < 1 << 20
            {
                let _ = image.copy_file(data, &mut io::sink());
            }
        }
    }
    let report = image.verify();
    let dump = image.dump(&mut Nowhere);
    assert!(begun.elapsed() < TIMEOUT, "{:?}", begun.elapsed());
    tree.is_ok() && report.is_ok() && dump.is_ok()
}

/// Returns an image without checksums, so that damage is not refused early. `features` are for
/// mke2fs.
fn unsealed(features: &str, block_bytes: &str) -> Vec<u8> {
    let source = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(source.path().join("directory")).expect("made");
    for index in 0..120 {
        let name = format!("directory/{index}-{}", "n".repeat(100));
        fs::write(source.path().join(name), vec![1; index * 10]).expect("written");
    }
    fs::write(source.path().join("large"), vec![2; 600 << 10]).expect("written");
    let target = "t".repeat(300);
    std::os::unix::fs::symlink(target, source.path().join("link")).expect("linked");
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.as_file().set_len(2 << 20).expect("set");
    let mut mke2fs = Command::new("mke2fs");
    mke2fs.args([
        "-q",
        "-F",
        "-t",
        "ext4",
        "-m",
        "0",
        "-N",
        "256",
        "-b",
        block_bytes,
    ]);
    mke2fs.args(["-O", features, "-d"]).arg(source.path());
    succeed(mke2fs.arg(file.path()));
    fs::read(file.path()).expect("readable")
}

const KINDS: [(&str, &str); 3] = [
    ("^metadata_csum,^has_journal", "1024"),
    ("^metadata_csum,^has_journal,^extent,^64bit", "1024"),
    ("^metadata_csum,^has_journal,inline_data", "4096"),
];

#[test]
fn oracle_a_byte_may_be_wrong() {
    for (features, block_bytes) in KINDS {
        let mut image = unsealed(features, block_bytes);
        assert!(read_everything(&image), "{features}");
        let used: Vec<usize> = (0..image.len()).filter(|&at| image[at] != 0).collect();
        for at in used.into_iter().filter(|at| at % 4096 < 300).step_by(151) {
            let before = image[at];
            for value in [0xff, before.wrapping_add(1)] {
                image[at] = value;
                read_everything(&image);
            }
            image[at] = before;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn oracle_many_bytes_may_be_wrong(
        kind in 0..KINDS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..200),
    ) {
        let mut image = unsealed(KINDS[kind].0, KINDS[kind].1);
        let used: Vec<usize> = (1024..image.len()).filter(|&at| image[at] != 0).collect();
        for (at, value) in changes {
            image[*at.get(&used)] = value;
        }
        read_everything(&image);
    }
}

/// The superblock and the first descriptor are covered by checksums.
#[test]
fn checksums_guard_what_is_written() {
    let file = image(&one_of_each(), 64 << 20);
    let mut bytes = fs::read(file.path()).expect("readable");
    assert!(read_everything(&bytes));
    for at in (1024..2048).chain(4096..4160).step_by(5) {
        bytes[at] ^= 1;
        assert!(!read_everything(&bytes), "byte {at}");
        bytes[at] ^= 1;
    }
}

#[test]
fn a_truncated_image_is_refused() {
    let file = image(&one_of_each(), 64 << 20);
    let bytes = fs::read(file.path()).expect("readable");
    for length in (0..bytes.len()).step_by(4 << 20) {
        assert!(!read_everything(&bytes[..length]), "{length} bytes");
    }
}

/// Returns an image after a request to debugfs.
fn changed(image: &[u8], request: &str) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), image).expect("written");
    succeed(
        Command::new("debugfs")
            .args(["-w", "-R", request])
            .arg(file.path()),
    );
    fs::read(file.path()).expect("readable")
}

/// Block maps and directories may lead back to themselves.
#[test]
fn oracle_loops_end() {
    let (features, block_bytes) = KINDS[1];
    let image = unsealed(features, block_bytes);
    let last = u32::try_from(image.len() / 1024 - 1).expect("small");
    let mut map = changed(&image, &format!("set_inode_field large block[TIND] {last}"));
    let own = last.to_le_bytes().repeat(256);
    let at = map.len() - 1024;
    map[at..].copy_from_slice(&own);
    let error = Image::open(map.as_slice()).expect("opened").read_tree();
    assert!(format!("{error:?}").contains("TooManyBlocks"), "{error:?}");
    for name in ["directory/loop", "second"] {
        let image = changed(&image, &format!("ln directory {name}"));
        let error = Image::open(image.as_slice()).expect("opened").read_tree();
        assert!(
            format!("{error:?}").contains("SecondDirectoryName"),
            "{error:?}"
        );
    }
}
