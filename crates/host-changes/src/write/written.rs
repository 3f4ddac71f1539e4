//! The changes of one or several directories: written under other names first, and then finished.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Writer;
use crate::comparison::Comparison;
use crate::host_directory::HostDirectory;
use crate::path::trimmed;
use crate::plan::Plan;
use crate::syncing::Syncing;
use crate::unfinished::UnfinishedFiles;
use crate::{ApplyError, ApplyOptions, HostAction, HostSource, Step};

/// Finishes the changes of several directories: all are written under other names before the first is finished.
/// An error has the index of its directory.
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
    for (index, one) in written.into_iter().enumerate() {
        one.finish().map_err(|error| (index, error))?;
    }
    Ok(())
}

/// A plan without conflicts, whose new files are in the directory under other names. They are removed unless
/// the plan is finished.
pub(crate) struct Written<'a, S> {
    writer: Writer<'a, S>,
    plan: &'a Plan,
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
            directories: BTreeMap::new(),
            touched: BTreeSet::new(),
            compared: HashMap::new(),
            syncing: Syncing::of(plan.steps.len()),
            unfinished: UnfinishedFiles::new(directory),
        };
        for step in plan.steps.iter().filter(|step| step.hard_link.is_none()) {
            writer.write(step)?;
        }
        let synced = writer.syncing.finish_contents();
        synced.map_err(|source| writer.not_synced(source))?;
        Ok(Self { writer, plan })
    }

    /// Checks that the files of the host are as they were when the steps were planned.
    pub(crate) fn check_unchanged(&self) -> Result<(), ApplyError> {
        for step in &self.plan.steps {
            self.writer.check_unchanged(step)?;
        }
        Ok(())
    }

    /// Does the steps.
    pub(crate) fn finish(self) -> Result<(), ApplyError> {
        let Self { mut writer, plan } = self;
        let is_removal = |step: &&Step| step.action == HostAction::Remove;
        let removals = || plan.steps.iter().rev().filter(is_removal);
        // Directories that become files are removed first; what only disappears is removed last.
        for step in removals().filter(|step| step.makes_room) {
            writer.remove(step)?;
        }
        let others = || plan.steps.iter().filter(|step| !is_removal(step));
        for step in others().filter(|step| step.hard_link.is_none()) {
            writer.make(step)?;
        }
        // The other names of these files exist now.
        for step in others() {
            if let Some(link) = &step.hard_link {
                writer.link(step, link)?;
            }
        }
        for step in removals().filter(|step| !step.makes_room) {
            writer.remove(step)?;
        }
        writer.finish()
    }
}
