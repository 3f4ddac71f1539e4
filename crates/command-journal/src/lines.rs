//! The lines of one file of a journal.

use std::io::{self, Read as _, Seek as _, SeekFrom};

use fs_err::File;

use crate::event::{LINE_MAX_BYTES, Line};

/// The size from which on a file is full, in bytes.
pub(crate) const FILE_MAX_BYTES: u64 = 8 << 20;
/// The most bytes of a file that are read, its last ones. A file that msb wrote has at most one line more than
/// its limit.
const READ_MAX_BYTES: u64 = FILE_MAX_BYTES + 2 * LINE_MAX_BYTES as u64;
/// The most damaged lines of a file that are reported one by one.
const DAMAGED_MAX: usize = 100;
/// The most bytes of a damaged line that are reported.
const EXCERPT_MAX_BYTES: usize = 80;

/// The lines of a file.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) valid: Vec<Line>,
    /// The beginnings of damaged lines, the first ones.
    pub(crate) damaged: Vec<String>,
    /// The number of damaged lines.
    pub(crate) damaged_count: usize,
}

impl Lines {
    /// Reads the lines that have an end.
    pub(crate) fn read(file: &mut File) -> io::Result<Self> {
        let length_bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(length_bytes.saturating_sub(READ_MAX_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(READ_MAX_BYTES).read_to_end(&mut bytes)?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let mut lines = Self::default();
        for line in bytes[..end].split(|byte| *byte == b'\n') {
            match Line::decode(line) {
                Some(line) => lines.valid.push(line),
                None => lines.add_damaged(line),
            }
        }
        Ok(lines)
    }

    fn add_damaged(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        self.damaged_count += 1;
        if self.damaged.len() < DAMAGED_MAX {
            let excerpt = &line[..line.len().min(EXCERPT_MAX_BYTES)];
            self.damaged
                .push(String::from_utf8_lossy(excerpt).into_owned());
        }
    }
}
