//! The steps of a plan whose new files are written: recorded, and then done.

use crate::ApplyError;
use crate::error::LeftFile;
use crate::finish::Finisher;
use crate::host_directory::HostDirectory;
use crate::record::{ApplyRecordError, ApplyRecords, Record, RecordFile};
use crate::syncing::Syncing;
use crate::unfinished::UnfinishedFiles;

/// The steps of a plan whose new files are written.
pub(crate) struct Prepared<'a> {
    pub(super) directory: &'a HostDirectory,
    pub(super) record: Record,
    /// The records that this one is among; `None` if the steps are not recorded.
    pub(super) records: Option<ApplyRecords>,
    /// The record's file, once it is written. It is removed before the new files are.
    pub(super) file: Option<RecordFile>,
    pub(super) unfinished: UnfinishedFiles<'a>,
    pub(super) syncing: Syncing,
}

impl Prepared<'_> {
    /// Writes the record of the steps. From then on the next command does them if this process is killed.
    pub(crate) fn record(&mut self) -> Result<(), ApplyError> {
        if let Some(records) = &self.records
            && !self.record.steps.is_empty()
        {
            self.file = records.write(&self.record)?;
        }
        Ok(())
    }

    /// Does the steps. Returns the files that were left because the host changed them.
    pub(crate) fn finish(self) -> Result<Vec<LeftFile>, ApplyError> {
        let Self {
            directory,
            record,
            file,
            unfinished,
            syncing,
            ..
        } = self;
        let mut steps = Finisher::new(directory, &record, unfinished, syncing);
        match steps.run() {
            Ok(()) => {
                if let Some(file) = file {
                    file.remove()?;
                }
                Ok(steps.into_left())
            }
            Err(error) => Err(failed(directory, file, &mut steps, error)),
        }
    }

    /// Does the first `count` steps, and ends as if the next one failed with an error.
    #[cfg(test)]
    pub(crate) fn fail_after(self, count: usize, error: ApplyError) -> ApplyError {
        let Self {
            directory,
            record,
            file,
            unfinished,
            syncing,
            ..
        } = self;
        let mut steps = Finisher::new(directory, &record, unfinished, syncing);
        for step in record.steps.iter().take(count) {
            if let Err(error) = steps.step(step) {
                return error;
            }
        }
        failed(directory, file, &mut steps, error)
    }

    /// Does the first `count` steps, and leaves the rest as a process does that is killed.
    #[cfg(test)]
    pub(crate) fn kill_after(self, count: usize) -> Result<(), ApplyError> {
        let Self {
            directory,
            record,
            file,
            unfinished,
            syncing,
            ..
        } = self;
        let mut steps = Finisher::new(directory, &record, unfinished, syncing);
        for step in record.steps.iter().take(count) {
            steps.step(step)?;
        }
        std::mem::forget((file, steps));
        Ok(())
    }

    /// Returns the number of steps.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.record.steps.len()
    }
}

/// Ends steps of which one failed, and returns the error. If the disk has failed, the rest is left to the next command,
/// as by a process that is killed.
fn failed(
    directory: &HostDirectory,
    file: Option<RecordFile>,
    steps: &mut Finisher<'_>,
    error: ApplyError,
) -> ApplyError {
    match file {
        Some(file) if error.is_of_the_disk() => {
            steps.leave_new_files();
            ApplyError::Unfinished {
                directory: directory.path_of(b""),
                record: file.keep(),
                source: ApplyRecordError::Host(Box::new(error)),
            }
        }
        file => {
            // Before the new files, which it names.
            drop(file);
            error
        }
    }
}
