use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use durable_files::{UNFINISHED, directory_of, ensure_directory, open_regular, sync_directory};
use fs_err as fs;

use super::{ApplyRecordError, RECORD_MAX_BYTES, Record};
use crate::ApplyError;
use crate::directory_identity::DirectoryIdentity;
use crate::finish::Finisher;
use crate::host_directory::HostDirectory;

/// The directory of the records, in `MSB_HOME`.
const APPLYING: &str = "applying";
/// The most records that are looked at.
const RECORDS_MAX: usize = 1_000;

/// The records of applies that are putting new files in their places. The record of a directory is written before its
/// first file changes, and removed after the last one. A process that finds one finishes the apply.
#[derive(Debug, Clone)]
pub struct ApplyRecords {
    directory: PathBuf,
}

/// An apply that was killed, and waits to be finished.
#[derive(Debug)]
pub struct WaitingApply {
    /// Path of the record.
    pub record: PathBuf,
    /// Path of the directory that it changes; `None` if the record cannot be read.
    pub directory: Option<PathBuf>,
    /// The reason why it cannot be finished; `None` if the next command does.
    pub problem: Option<ApplyRecordError>,
}

/// The record of an apply of this process. It is removed with this value.
#[derive(Debug)]
pub(crate) struct RecordFile {
    /// `None` once it is removed.
    path: Option<PathBuf>,
}

impl ApplyRecords {
    /// Returns the records of an `MSB_HOME`. The filesystem is not touched.
    pub fn of_home(home: &Path) -> Self {
        Self {
            directory: home.join(APPLYING),
        }
    }

    /// Finishes the apply to a directory that was killed. Nothing is done if there is none. A file that the host changed
    /// since is left unchanged.
    ///
    /// # Errors
    /// If an apply is writing to the directory, or the killed one cannot be finished; its record is kept then.
    pub fn finish(&self, directory: &Path) -> Result<(), ApplyError> {
        let Ok(metadata) = fs::metadata(directory) else {
            return Ok(());
        };
        let record = self.path_of(&DirectoryIdentity::new(&metadata));
        if fs::symlink_metadata(record).is_err() {
            return Ok(());
        }
        self.finish_locked(&HostDirectory::open(directory)?)
    }

    /// Finishes all applies that were killed and can be finished. Others are among those of
    /// [`ApplyRecords::waiting`].
    pub fn finish_all(&self) {
        for waiting in self.waiting().unwrap_or_default() {
            if let (Some(directory), None) = (waiting.directory, waiting.problem) {
                let _ = self.finish(&directory);
            }
        }
    }

    /// Returns the applies that wait to be finished, at most 1,000. One that a process is making is not among them.
    ///
    /// # Errors
    /// If the records cannot be listed.
    pub fn waiting(&self) -> io::Result<Vec<WaitingApply>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut paths = Vec::new();
        for entry in entries.take(RECORDS_MAX) {
            let path = entry?.path();
            let is_hidden = |name: &OsStr| name.as_bytes().starts_with(b".");
            if !path.file_name().is_some_and(is_hidden) {
                paths.push(path);
            }
        }
        paths.sort_unstable();
        Ok(paths.into_iter().filter_map(waiting).collect())
    }

    /// Finishes the apply to a locked directory that was killed.
    pub(crate) fn finish_locked(&self, directory: &HostDirectory) -> Result<(), ApplyError> {
        let identity = directory.identity()?;
        let path = self.path_of(&identity);
        // A process that was killed while it wrote a record has changed nothing.
        let _ = fs::remove_file(self.unfinished(&identity));
        let record = match read(&path) {
            Err(ApplyRecordError::Read(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(());
            }
            record => record,
        };
        let waits = |source| ApplyError::Unfinished {
            directory: directory.path_of(b""),
            record: path.clone(),
            source,
        };
        let record = record.map_err(waits)?;
        record.check_directory(&identity).map_err(waits)?;
        let finished = Finisher::resume(directory, &record).and_then(|mut steps| steps.run());
        finished.map_err(|error| waits(ApplyRecordError::Host(Box::new(error))))?;
        RecordFile::new(path).remove()
    }

    /// Writes the record of a locked directory durably. `None` if it would be too long.
    pub(crate) fn write(&self, record: &Record) -> Result<Option<RecordFile>, ApplyError> {
        let path = self.path_of(&record.identity);
        let written = self.write_file(record, &path);
        if written.is_err() {
            // Nothing of it is begun.
            let _ = fs::remove_file(self.unfinished(&record.identity));
            let _ = fs::remove_file(&path);
        }
        match written {
            Ok(true) => Ok(Some(RecordFile::new(path))),
            Ok(false) => Ok(None),
            Err(source) => Err(ApplyError::Host {
                action: "write",
                path,
                source,
            }),
        }
    }

    /// Returns true if the record was written.
    fn write_file(&self, record: &Record, path: &Path) -> io::Result<bool> {
        let Some(bytes) = record.seal()? else {
            return Ok(false);
        };
        if !self.directory.is_dir() {
            ensure_directory(&self.directory)?;
            sync_directory(directory_of(&self.directory))?;
        }
        // The lock of the directory keeps other writers out of this name.
        let unfinished = self.unfinished(&record.identity);
        let mut file = durable_files::create(&unfinished)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        durable_files::rename_all(&[(unfinished.as_path(), path)])?;
        Ok(true)
    }

    fn path_of(&self, identity: &DirectoryIdentity) -> PathBuf {
        self.directory.join(identity.record_name())
    }

    /// Returns the path of a record that is being written.
    fn unfinished(&self, identity: &DirectoryIdentity) -> PathBuf {
        let name = identity.record_name();
        self.directory.join(format!("{UNFINISHED}{name}"))
    }
}

impl RecordFile {
    const fn new(path: PathBuf) -> Self {
        Self { path: Some(path) }
    }

    /// Keeps the record, from which another process does the rest. Returns its path.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.path.take().unwrap_or_default()
    }

    /// Removes the record durably.
    pub(crate) fn remove(mut self) -> Result<(), ApplyError> {
        let Some(path) = self.path.take() else {
            return Ok(());
        };
        let removed = fs::remove_file(&path).and_then(|()| sync_directory(directory_of(&path)));
        removed.map_err(|source| ApplyError::Host {
            action: "remove",
            path,
            source,
        })
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        // The next run finds that nothing of it is left to be done.
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

fn read(path: &Path) -> Result<Record, ApplyRecordError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(RECORD_MAX_BYTES).unwrap_or(u64::MAX);
    let file = open_regular(path).map_err(ApplyRecordError::Read)?;
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(ApplyRecordError::Read)?;
    Record::open(&bytes)
}

/// Returns the apply of a record; `None` if a process is making it, or the record is gone.
fn waiting(record: PathBuf) -> Option<WaitingApply> {
    let opened = match read(&record) {
        Err(ApplyRecordError::Read(error)) if error.kind() == io::ErrorKind::NotFound => {
            return None;
        }
        opened => opened,
    };
    let (directory, problem) = match opened {
        Err(error) => (None, Some(error)),
        Ok(opened) => {
            let directory = PathBuf::from(OsStr::from_bytes(&opened.directory));
            let problem = match HostDirectory::open(&directory) {
                Err(ApplyError::Busy { .. }) => return None,
                Err(ApplyError::Directory { source, .. })
                    if source.kind() == io::ErrorKind::NotFound =>
                {
                    Some(ApplyRecordError::Missing)
                }
                Err(error) => Some(ApplyRecordError::Host(Box::new(error))),
                Ok(found) => match found.identity() {
                    Ok(identity) => opened.check_directory(&identity).err(),
                    Err(error) => Some(ApplyRecordError::Host(Box::new(error))),
                },
            };
            (Some(directory), problem)
        }
    };
    Some(WaitingApply {
        record,
        directory,
        problem,
    })
}
