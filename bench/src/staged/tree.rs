//! The directories that are staged: text files whose sizes are spread as in a source tree.

use std::fs::{self, File, FileTimes};
use std::io::{BufWriter, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};

use crate::msb::text;

/// The lengths of ten files in a row, as multiples of the mean: many are short, few are long.
const SPREAD: [f64; 10] = [0.05, 2.4, 0.1, 0.6, 0.2, 4.0, 0.15, 1.1, 0.4, 1.0];
/// The number of files in a directory, and of directories in each above it.
const DIRECTORY_FILES: u32 = 12;
const DIRECTORIES: u32 = 10;
/// The time of the first file's last change, in seconds since the epoch. Each file has a later one.
const FIRST_CHANGE_S: u64 = 1_600_000_000;

/// The size of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) files: u32,
    pub(super) mib: u32,
}

impl Shape {
    /// Writes the files below a directory, the same ones each time.
    pub(super) fn write(self, directory: &Path) -> Result<()> {
        self.write_some(directory, 0..self.files, "first")
    }

    /// Writes the files with these numbers. Every `word` gives them another content.
    pub(super) fn write_some(
        self,
        directory: &Path,
        numbers: Range<u32>,
        word: &str,
    ) -> Result<()> {
        for number in numbers {
            let path = directory.join(path_of(number));
            fs::create_dir_all(path.parent().unwrap_or(directory))?;
            let file =
                File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            let mut writer = BufWriter::new(&file);
            write_text(&mut writer, word, number, self.length_bytes(number))?;
            writer.flush()?;
            let changed = UNIX_EPOCH + Duration::from_secs(FIRST_CHANGE_S + u64::from(number));
            file.set_times(FileTimes::new().set_modified(changed))?;
        }
        Ok(())
    }

    /// Returns the length of a file, in bytes.
    fn length_bytes(self, number: u32) -> usize {
        let mean = f64::from(self.mib) * 1_048_576.0 / f64::from(self.files);
        let part = SPREAD[number as usize % SPREAD.len()];
        (mean * part) as usize
    }

    /// Describes the size for a report.
    pub(super) fn words(self) -> String {
        format!("{} files, {} MiB", self.files, self.mib)
    }
}

/// Returns the path of a file: the files 0 to 11 are in `m0/p0`.
pub(super) fn path_of(number: u32) -> PathBuf {
    let directory = number / DIRECTORY_FILES;
    let above = directory / DIRECTORIES;
    format!("m{above}/p{}/f{number}.c", directory % DIRECTORIES).into()
}

/// Writes lines of words, which compress about as well as sources do.
fn write_text(
    out: &mut impl std::io::Write,
    word: &str,
    number: u32,
    length_bytes: usize,
) -> Result<()> {
    let seed = word.bytes().fold(u64::from(number) + 1, |seed, byte| {
        (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut state = seed | 1;
    let mut written_bytes = 0;
    while written_bytes < length_bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let line = format!("int word_{} = {:x};\n", state % 1_000, state >> 40);
        let line = &line.as_bytes()[..line.len().min(length_bytes - written_bytes)];
        out.write_all(line)?;
        written_bytes += line.len();
    }
    Ok(())
}

/// Makes a directory a repository with one commit, one pack and an index that fits the files.
pub(super) fn make_repository(directory: &Path) -> Result<()> {
    let is_there = Command::new("git").arg("--version").output();
    ensure!(
        is_there.is_ok_and(|output| output.status.success()),
        "cannot run git on this host, which makes the repository; install git, or use --host-only"
    );
    let steps: [&[&str]; 4] = [
        &["init", "--quiet", "--initial-branch=work"],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "first"],
        &["repack", "-adq"],
    ];
    for step in steps {
        let mut git = Command::new("git");
        git.arg("-C").arg(directory);
        git.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]);
        git.args(["-c", "gc.auto=0"]).args(step);
        text(&mut git)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_its_size_and_is_the_same_each_time() {
        let directory = tempfile::tempdir().expect("a directory");
        let shape = Shape { files: 500, mib: 2 };
        let read = |name: &str, number| {
            let path = directory.path().join(name).join(path_of(number));
            fs::read(path).expect("a file")
        };
        for name in ["a", "b"] {
            shape.write(&directory.path().join(name)).expect("written");
        }
        let total: usize = (0..500).map(|number| read("a", number).len()).sum();
        let wanted = 2 << 20;
        assert!(total.abs_diff(wanted) < wanted / 100, "{total} bytes");
        assert!((0..500).all(|number| read("a", number) == read("b", number)));
        let other = directory.path().join("b");
        shape.write_some(&other, 7..8, "other").expect("written");
        assert_ne!(read("a", 7), read("b", 7));
        assert_eq!(read("a", 7).len(), read("b", 7).len());
        assert_eq!(path_of(0), Path::new("m0/p0/f0.c"));
        assert_eq!(path_of(125), Path::new("m1/p0/f125.c"));
    }
}
