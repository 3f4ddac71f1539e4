//! The changes of one or several directories: written under other names first, and then finished.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;

use super::prepared::Prepared;
use super::{Linkable, Writer};
use crate::comparison::Comparison;
#[cfg(test)]
use crate::error::LeftFile;
use crate::finding::Finding;
use crate::host_directory::HostDirectory;
use crate::path::trimmed;
use crate::plan::Plan;
use crate::record::{ApplyRecords, Record};
use crate::syncing::Syncing;
use crate::unfinished::UnfinishedFiles;
use crate::{ApplyError, ApplyOptions, HostSource};

/// Finishes the changes of several directories: all are written under other names, and recorded, before the first is
/// finished. An error has the index of its directory.
pub(crate) fn run_all<'a, S: HostSource + 'a>(
    all: impl Iterator<Item = Result<Written<'a, S>, ApplyError>>,
) -> Result<(), (usize, ApplyError)> {
    let mut written = Vec::new();
    for (index, one) in all.enumerate() {
        written.push(one.map_err(|error| (index, error))?);
    }
    for (index, one) in written.iter().enumerate() {
        one.check_unchanged().map_err(|error| (index, error))?;
    }
    let mut prepared = Vec::new();
    for (index, one) in written.into_iter().enumerate() {
        prepared.push(one.prepare().map_err(|error| (index, error))?);
    }
    for (index, one) in prepared.iter_mut().enumerate() {
        one.record().map_err(|error| (index, error))?;
    }
    let (mut files, mut first, mut failed) = (Vec::new(), None, None);
    for (index, one) in prepared.into_iter().enumerate() {
        match one.finish() {
            Ok(left) => {
                if !left.is_empty() {
                    first = first.or(Some(index));
                }
                files.extend(left);
            }
            // The other directories get their changes, as they do if the process is killed.
            Err(error) => failed = failed.or(Some((index, error))),
        }
    }
    match (failed, first) {
        (Some(failed), _) => Err(failed),
        (None, Some(index)) => Err((index, ApplyError::Left { files })),
        (None, None) => Ok(()),
    }
}

/// A plan without conflicts, whose new files are in the directory under other names. They are removed unless
/// the plan is finished.
pub(crate) struct Written<'a, S> {
    writer: Writer<'a, S>,
    plan: &'a Plan,
    records: Option<ApplyRecords>,
}

impl<'a, S: HostSource> Written<'a, S> {
    /// Writes the new files. The directory is locked and was checked.
    pub(crate) fn new(
        (old, new): (&'a S, &'a S),
        directory: &'a HostDirectory,
        options: &ApplyOptions,
        plan: &'a Plan,
    ) -> Result<Self, ApplyError> {
        let mut writer = Writer {
            side: new,
            comparison: Comparison {
                old,
                new,
                directory,
                keep_owner: options.keep_owner,
            },
            directory,
            from: trimmed(&options.from),
            keep_owner: options.keep_owner,
            compared: HashMap::new(),
            links: HashMap::new(),
            syncing: Syncing::of(plan.steps.len()),
            nearest: None,
            unfinished: UnfinishedFiles::new(directory),
        };
        for step in plan.steps.iter().filter(|step| step.hard_link.is_none()) {
            writer.write(step)?;
        }
        let linkable = Linkable::new(plan);
        for step in &plan.steps {
            if let Some(link) = &step.hard_link {
                writer.link(step, link, &linkable)?;
            }
        }
        let synced = writer.syncing.finish_contents();
        let not_synced = |source| ApplyError::Host {
            action: "sync the new files in",
            path: directory.path_of(b""),
            source,
        };
        synced.map_err(not_synced)?;
        if options.records.is_some() {
            // The record must not outlive their names.
            let above: BTreeSet<&[u8]> = writer.unfinished.directories().collect();
            for path in above {
                let open = File::from(directory.open_to_read(path)?);
                writer.syncing.note_attributes(&open).map_err(not_synced)?;
            }
        }
        Ok(Self {
            writer,
            plan,
            records: options.records.clone(),
        })
    }

    /// Checks that the files of the host are as they were when the steps were planned.
    pub(crate) fn check_unchanged(&self) -> Result<(), ApplyError> {
        let mut finding = Finding::new(self.writer.directory);
        for step in &self.plan.steps {
            self.writer.check_unchanged(step, &mut finding)?;
        }
        Ok(())
    }

    /// Finds the steps that are left to be done. They need nothing of the sandbox.
    pub(crate) fn prepare(self) -> Result<Prepared<'a>, ApplyError> {
        let steps = self.writer.pending(self.plan)?;
        let Writer {
            directory,
            keep_owner,
            syncing,
            unfinished,
            ..
        } = self.writer;
        let identity = directory.identity()?;
        Ok(Prepared {
            directory,
            record: Record::new(&directory.path_of(b""), identity, keep_owner, steps),
            records: self.records,
            file: None,
            unfinished,
            syncing,
        })
    }

    /// Does the steps, without a record of them.
    #[cfg(test)]
    pub(crate) fn finish(self) -> Result<Vec<LeftFile>, ApplyError> {
        self.prepare()?.finish()
    }
}
