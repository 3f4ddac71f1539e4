//! The programs that make images, and what they are made of.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use disk_image::{DiskImage, Format, OpenError};
use fstree::ReadAt as _;
use tempfile::TempDir;

/// A directory that is removed after a test.
pub(crate) struct Workshop {
    directory: TempDir,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        Self { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("written");
        path
    }

    /// Makes an empty file of a size.
    pub(crate) fn sized(&self, name: &str, size_bytes: u64) -> PathBuf {
        let path = self.path(name);
        let file = File::create(&path).expect("made");
        file.set_len(size_bytes).expect("made long");
        path
    }

    /// Runs a program in the directory, and returns what it printed. The words of `line` are its arguments.
    pub(crate) fn run(&self, line: &str) -> String {
        self.run_with_input(line, "")
    }

    /// Runs a program like [`Workshop::run`], with text as its input.
    pub(crate) fn run_with_input(&self, line: &str, input: &str) -> String {
        let mut words = line.split_whitespace();
        let program = words.next().expect("a program");
        let path = std::env::var("PATH").unwrap_or_default();
        let spawned = Command::new(program)
            .args(words)
            .env("PATH", format!("{path}:/usr/sbin:/sbin"))
            .current_dir(self.directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("{program} is installed: {error}"));
        let mut stdin = child.stdin.take().expect("piped");
        std::io::Write::write_all(&mut stdin, input.as_bytes()).expect("the program reads");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn open(&self, name: &str) -> Result<DiskImage<File>, OpenError> {
        open_as(&self.path(name), None)
    }
}

pub(crate) fn open_as(path: &Path, format: Option<Format>) -> Result<DiskImage<File>, OpenError> {
    DiskImage::open(File::open(path).expect("opened"), format)
}

/// Reads the whole disk, in pieces whose borders are those of nothing.
pub(crate) fn read_all(image: &DiskImage<File>) -> Vec<u8> {
    const PIECE_BYTES: usize = 100_003;
    let size = usize::try_from(image.size_bytes()).expect("small");
    let mut bytes = vec![0xee; size];
    for (index, piece) in bytes.chunks_mut(PIECE_BYTES).enumerate() {
        let offset = u64::try_from(index * PIECE_BYTES).expect("small");
        image.read_exact_at(piece, offset).expect("read");
    }
    bytes
}

/// Returns the content of a disk: text that can be compressed, noise that cannot, zeros, and an end that no
/// cluster ends at.
pub(crate) fn content() -> Vec<u8> {
    const MIB: usize = 1 << 20;
    let mut bytes = vec![0; 9 * MIB + 7 * 512];
    let mut state = 1_u64;
    for byte in &mut bytes[2 * MIB..3 * MIB] {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *byte = state.to_le_bytes()[7];
    }
    for (at, byte) in bytes[5 * MIB + 100..6 * MIB + 5000].iter_mut().enumerate() {
        *byte = b"disk image "[at / 3 % 11];
    }
    for byte in &mut bytes[9 * MIB..] {
        *byte = 7;
    }
    bytes
}
