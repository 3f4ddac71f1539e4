//! The file of a journal: locked, appended to, renamed when it is full.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fs_err::{self as fs, File};

use crate::event::{Event, LINE_MAX_BYTES, Line};
use crate::lines::{FILE_MAX_BYTES, Lines};

/// The most commands of one file.
const FILE_MAX_ENTRIES: u64 = 5_000;
/// The part of a file in which its last line is looked for, in bytes. It has two lines at least.
const TAIL_BYTES: usize = 2 * LINE_MAX_BYTES;
/// Most times that a file may be renamed between the opening and the lock.
const TRIES: u32 = 8;

/// The files of a journal: the current one, and the full one before it.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) current: PathBuf,
    pub(crate) full: PathBuf,
}

/// The use of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reads; others may read at once.
    Read,
    /// Appends to a journal that exists.
    Append,
    /// Appends, and makes a missing journal.
    Create,
}

/// The current file with the right to append to it.
struct Locked {
    file: File,
    length_bytes: u64,
    /// The number of the newest command.
    last: u64,
}

impl Files {
    pub(crate) fn new(current: PathBuf) -> Self {
        let mut full = current.clone().into_os_string();
        full.push(".1");
        Self {
            current,
            full: full.into(),
        }
    }

    /// Appends an event. `event` makes it, from the number that the next command gets. Returns the number of
    /// the newest command then; `None` if the journal does not exist, and may not be made.
    pub(crate) fn append(
        &self,
        access: Access,
        is_durable: bool,
        event: impl FnOnce(u64) -> Event,
    ) -> io::Result<Option<u64>> {
        let Some(mut locked) = self.lock_to_append(access)? else {
            return Ok(None);
        };
        let event = event(locked.last.saturating_add(1));
        let last = match &event {
            Event::Begin { number, .. } => *number,
            _ => locked.last,
        };
        let is_new = locked.length_bytes == 0;
        locked.write(&Line::new(last, event).encode()?)?;
        if is_durable {
            locked.file.sync_data()?;
            if is_new && let Some(directory) = self.current.parent() {
                durable_files::sync_directory(directory)?;
            }
        }
        Ok(Some(last))
    }

    /// Opens the current file and takes its lock; `None` if there is no journal.
    pub(crate) fn lock(&self, access: Access) -> io::Result<Option<File>> {
        let mut tries = 0;
        loop {
            let opened = match access {
                Access::Read => File::open(&self.current),
                Access::Append if !fs::exists(&self.full)? => {
                    File::options().read(true).write(true).open(&self.current)
                }
                Access::Append | Access::Create => durable_files::open_or_create(&self.current),
            };
            let file = match opened {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if access == Access::Create {
                        return Err(error);
                    }
                    return Ok(None);
                }
                opened => opened?,
            };
            match access {
                Access::Read => file.lock_shared()?,
                Access::Append | Access::Create => file.lock()?,
            }
            // Another process may have renamed it, as it was full.
            if is_named(&file, &self.current)? {
                return Ok(Some(file));
            }
            tries += 1;
            if tries == TRIES {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
        }
    }

    fn lock_to_append(&self, access: Access) -> io::Result<Option<Locked>> {
        let Some(file) = self.lock(access)? else {
            return Ok(None);
        };
        let locked = self.locked(file)?;
        if !locked.is_full()? {
            return Ok(Some(locked));
        }
        fs::rename(&self.current, &self.full)?;
        let Some(file) = self.lock(Access::Create)? else {
            return Ok(None);
        };
        self.locked(file).map(Some)
    }

    /// Removes a line without an end, and finds the last number.
    fn locked(&self, mut file: File) -> io::Result<Locked> {
        let (mut length_bytes, mut tail) = read_tail(&mut file)?;
        let torn_bytes = tail.iter().rev().take_while(|byte| **byte != b'\n').count();
        if torn_bytes > 0 && torn_bytes < TAIL_BYTES {
            length_bytes -= torn_bytes as u64;
            file.set_len(length_bytes)?;
            tail.truncate(tail.len() - torn_bytes);
        } else if torn_bytes > 0 {
            // It is no line of a journal, and has no end nearby.
            file.seek(SeekFrom::End(0))?;
            file.write_all(b"\n")?;
            length_bytes += 1;
        }
        let last = match last_number(&mut file, &tail)? {
            Some(last) => last,
            None => match File::open(&self.full) {
                Ok(mut full) => {
                    let (_, tail) = read_tail(&mut full)?;
                    last_number(&mut full, &tail)?.unwrap_or(0)
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                Err(error) => return Err(error),
            },
        };
        Ok(Locked {
            file,
            length_bytes,
            last,
        })
    }
}

impl Locked {
    /// Returns true if the file has as many commands or bytes as it may have.
    fn is_full(&self) -> io::Result<bool> {
        if self.length_bytes >= FILE_MAX_BYTES {
            return Ok(true);
        }
        let mut head = vec![0; TAIL_BYTES];
        let read_bytes = read_at(&self.file, &mut head, 0)?;
        let lines = head[..read_bytes].split(|byte| *byte == b'\n');
        // The first line of a file is that of a command, unless it is damaged.
        let first = lines.filter_map(Line::decode).map(|line| line.last).next();
        Ok(first.is_some_and(|first| self.last.saturating_sub(first) + 1 >= FILE_MAX_ENTRIES))
    }

    /// Appends bytes, all or none.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.length_bytes))?;
        let written = self.file.write_all(line);
        if written.is_err() {
            // The next writer does so if this fails, too.
            let _ = self.file.set_len(self.length_bytes);
        }
        written
    }
}

/// Returns the length of a file, and its last bytes.
fn read_tail(file: &mut File) -> io::Result<(u64, Vec<u8>)> {
    let length_bytes = file.metadata()?.len();
    let start = length_bytes.saturating_sub(TAIL_BYTES as u64);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES as u64).read_to_end(&mut tail)?;
    Ok((length_bytes, tail))
}

/// Returns the number of the newest command; `None` if no line can be read.
fn last_number(file: &mut File, tail: &[u8]) -> io::Result<Option<u64>> {
    let mut lines = tail.split(|byte| *byte == b'\n').rev();
    if let Some(line) = lines.find_map(Line::decode) {
        return Ok(Some(line.last));
    }
    if tail.len() < TAIL_BYTES {
        return Ok(None);
    }
    // Something else than lines was written behind them.
    let lines = Lines::read(file)?;
    Ok(lines.valid.iter().map(|line| line.last).max())
}

fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::os::unix::fs::FileExt as _;
    let mut read_bytes = 0;
    while read_bytes < buffer.len() {
        let at = offset + read_bytes as u64;
        match file.file().read_at(&mut buffer[read_bytes..], at)? {
            0 => break,
            count => read_bytes += count,
        }
    }
    Ok(read_bytes)
}

/// Returns true if a path leads to the open file.
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
