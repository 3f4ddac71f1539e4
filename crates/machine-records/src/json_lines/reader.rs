use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::de::DeserializeOwned;

use super::{LineLimits, older};
use crate::untrusted_file;

/// The number of files that are read if they are not followed. Otherwise a writer that starts one file after
/// the other would leave the reader no end.
const FILES_MAX: u32 = 2;

/// Reads a log of lines from its beginning, and continues as it grows.
#[derive(Debug)]
pub struct LineReader {
    path: PathBuf,
    limits: LineLimits,
    file: Option<Opened>,
    /// The number of files that may still be opened; `None` if the log is followed.
    left: Option<u32>,
    /// The beginning of a line that is not complete yet.
    begun: Vec<u8>,
}

/// An open file, which may get another name.
#[derive(Debug)]
struct Opened {
    /// The content, up to the size limit of a file.
    content: BufReader<io::Take<fs::File>>,
    device: u64,
    inode: u64,
}

impl LineReader {
    /// Opens the log at `path`, which need not exist yet. The records have an end, also if others are written
    /// meanwhile.
    ///
    /// # Errors
    /// If a file cannot be opened, or is not a regular one.
    pub fn open(path: &Path, limits: LineLimits) -> io::Result<Self> {
        let mut reader = Self {
            path: path.to_owned(),
            limits,
            file: None,
            left: Some(FILES_MAX),
            begun: Vec::new(),
        };
        if let Some(first) = reader.following()? {
            reader.turn_to(first);
        }
        Ok(reader)
    }

    /// Follows the log from now on: a file that takes the place of the present one is read after it.
    pub const fn go_on(&mut self) {
        self.left = None;
    }

    /// Returns true if the log is followed.
    pub const fn goes_on(&self) -> bool {
        self.left.is_none()
    }

    /// Returns the next record; `None` if there are no more yet. A line that is no such record is left out.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn next_record<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        while let Some(line) = self.next_line()? {
            if let Ok(record) = serde_json::from_slice(&line) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Returns the next complete line, or a part of one that is too long; `None` if there is none yet.
    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(line) = self.line()? {
                return Ok(Some(line));
            }
            let Some(next) = self.following()? else {
                return Ok(None);
            };
            // It was written just before another file took the place of this one.
            if let Some(line) = self.line()? {
                return Ok(Some(line));
            }
            self.turn_to(next);
        }
    }

    /// Returns the next line of the present file; `None` if there is none yet.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = &mut self.file else {
            return Ok(None);
        };
        let max_bytes = self.limits.line_bytes;
        let room_bytes = max_bytes.saturating_sub(self.begun.len() as u64);
        let content = &mut file.content;
        content
            .take(room_bytes)
            .read_until(b'\n', &mut self.begun)?;
        let is_whole = self.begun.ends_with(b"\n") || self.begun.len() as u64 >= max_bytes;
        Ok(is_whole.then(|| std::mem::take(&mut self.begun)))
    }

    /// Returns the file that comes after the present one; `None` if there is none yet. A reader that is more than a
    /// file behind misses the records that were removed meanwhile.
    fn following(&self) -> io::Result<Option<Opened>> {
        if self.left == Some(0) {
            return Ok(None);
        }
        // In this order: if the current file becomes the older one in between, it is found as that.
        let current = Opened::open(&self.path, self.limits)?;
        let older = Opened::open(&older(&self.path), self.limits)?;
        let is_present = |file: &Opened| {
            let present = self.file.as_ref();
            present.is_some_and(|present| present.is_same(file))
        };
        if current.as_ref().is_some_and(is_present) {
            return Ok(None);
        }
        if older.as_ref().is_some_and(is_present) {
            return Ok(current);
        }
        Ok(older.or(current))
    }

    fn turn_to(&mut self, file: Opened) {
        self.file = Some(file);
        self.begun.clear();
        self.left = self.left.map(|left| left.saturating_sub(1));
    }
}

impl Opened {
    fn open(path: &Path, limits: LineLimits) -> io::Result<Option<Self>> {
        let Some(file) = untrusted_file::open(path)? else {
            return Ok(None);
        };
        let metadata = file.metadata()?;
        Ok(Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            content: BufReader::new(file.take(limits.file_bytes)),
        }))
    }

    const fn is_same(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const LIMITS: LineLimits = LineLimits {
        file_bytes: 1000,
        line_bytes: 100,
    };

    /// Adds a line, or begins a new file with it.
    fn write(path: &Path, line: u32, is_first: bool) {
        if is_first {
            fs::rename(path, older(path)).expect("renamed");
        }
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        let mut file = file.expect("opened");
        file.write_all(format!("{line}\n").as_bytes())
            .expect("written");
    }

    fn all(lines: &mut LineReader) -> Vec<String> {
        let next = || lines.next_line().expect("read");
        std::iter::from_fn(next)
            .map(|line| String::from_utf8(line).expect("text").trim().to_owned())
            .collect()
    }

    #[test]
    fn lines_are_followed_into_the_file_that_takes_the_place_of_the_present_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("lines");
        // The reader is up to one whole file behind.
        for behind in 1..8 {
            let mut lines = LineReader::open(&path, LIMITS).expect("opened");
            lines.go_on();
            all(&mut lines);
            let mut found = Vec::new();
            for line in 0..40 {
                write(&path, line, line % 4 == 3);
                if line % behind == 0 {
                    found.extend(all(&mut lines));
                }
            }
            found.extend(all(&mut lines));
            let expected: Vec<String> = (0..40).map(|line| line.to_string()).collect();
            assert_eq!(found, expected, "{behind}");
        }
    }

    #[test]
    fn lines_that_are_not_followed_end_while_others_are_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("lines");
        write(&path, 0, false);
        let mut lines = LineReader::open(&path, LIMITS).expect("opened");
        assert!(!lines.goes_on());
        let mut line = 0;
        while lines.next_line().expect("read").is_some() {
            line += 1;
            assert!(line < 10, "it is followed");
            write(&path, line, true);
        }
        lines.go_on();
        assert_eq!(all(&mut lines).last(), Some(&line.to_string()));
    }
}
