//! The steps of a plan whose new files are written, in the order in which they are done.

use std::collections::HashSet;

use fstree::InodeId;
use rustix::io::Errno;

use super::Writer;
use crate::host_directory::{components, split};
use crate::pending::{Link, NewAttributes, PendingAction, PendingStep, Place};
use crate::plan::Plan;
use crate::unfinished::new_name;
use crate::{ApplyError, HostAction, HostSource, Step};

/// The steps that were found, and the directories that exist once they are done.
#[derive(Default)]
struct Found {
    steps: Vec<PendingStep>,
    directories: HashSet<Vec<u8>>,
}

impl Found {
    fn add(&mut self, path: &[u8], action: PendingAction) {
        self.steps.push(PendingStep {
            path: path.to_vec(),
            action,
        });
    }

    fn remove(&mut self, step: &Step) {
        self.add(&step.path, PendingAction::Remove(step.host));
    }
}

impl<S: HostSource> Writer<'_, S> {
    /// Returns the steps.
    pub(super) fn pending(&self, plan: &Plan) -> Result<Vec<PendingStep>, ApplyError> {
        let mut found = Found::default();
        let is_removal = |step: &&Step| step.action == HostAction::Remove;
        let removals = || plan.steps.iter().rev().filter(is_removal);
        // Directories that become files are removed first; what only disappears is removed last.
        for step in removals().filter(|step| step.makes_room) {
            found.remove(step);
        }
        let others = || plan.steps.iter().filter(|step| !is_removal(step));
        for step in others().filter(|step| step.hard_link.is_none()) {
            self.make(step, &mut found)?;
        }
        // The other names of these files exist then.
        for step in others().filter(|step| step.hard_link.is_some()) {
            self.make(step, &mut found)?;
        }
        for step in removals().filter(|step| !step.makes_room) {
            found.remove(step);
        }
        Ok(found.steps)
    }

    /// Adds the steps that add or change a file.
    fn make(&self, step: &Step, found: &mut Found) -> Result<(), ApplyError> {
        let Some(id) = step.new else {
            return Ok(());
        };
        let path = &step.path;
        let is_directory = self.side.tree().directory(id).is_some();
        let attributes = self.attributes(id);
        let changes_attributes = step.action == HostAction::ChangeAttributes;
        if !changes_attributes {
            self.make_above(path, found)?;
        }
        match (is_directory, changes_attributes) {
            (true, true) => found.add(path, PendingAction::SetDirectory(attributes)),
            (true, false) => {
                if step.host.is_some() {
                    found.remove(step);
                }
                found.add(path, PendingAction::MakeDirectory(attributes));
                found.directories.insert(path.clone());
            }
            (false, true) => {
                let host = step.host;
                found.add(path, PendingAction::SetAttributes { host, attributes });
            }
            (false, false) => {
                let action = self.new_file(step, attributes)?;
                found.add(path, action);
            }
        }
        Ok(())
    }

    /// Returns the step of a new file: one that was written, or another name.
    fn new_file(
        &self,
        step: &Step,
        attributes: NewAttributes,
    ) -> Result<PendingAction, ApplyError> {
        let (host, keeps_attributes) = (step.host, !step.has_new_attributes);
        if let Some(linked) = self.links.get(&step.path) {
            let name = new_name().map_err(|source| ApplyError::Host {
                action: "name",
                path: self.directory.path_of(&step.path),
                source,
            })?;
            return Ok(PendingAction::Link(Link {
                other: linked.path.clone(),
                inode: linked.inode,
                name,
                host,
                attributes,
                keeps_attributes,
            }));
        }
        let waiting = self.unfinished.get(&step.path).cloned();
        Ok(PendingAction::Place(Place {
            waiting: waiting.ok_or_else(|| self.changed(&step.path))?,
            host,
            attributes,
            keeps_attributes,
        }))
    }

    /// Adds the missing directories above a path, which are made like those of the sandbox.
    fn make_above(&self, path: &[u8], found: &mut Found) -> Result<(), ApplyError> {
        let above = split(path).0;
        if above.is_empty() || found.directories.contains(above) {
            return Ok(());
        }
        let mut directory = Vec::new();
        for name in components(above) {
            if !directory.is_empty() {
                directory.push(b'/');
            }
            directory.extend_from_slice(name);
            if found.directories.contains(&directory) {
                continue;
            }
            match self.directory.open_directory(&directory) {
                Ok(_) => {}
                Err(Errno::NOENT) => {
                    let in_sandbox = [&self.from[..], b"/", &directory].concat();
                    let id = self.side.tree().find(&in_sandbox);
                    let id = id.ok_or_else(|| self.changed(&directory))?;
                    let attributes = self.attributes(id);
                    found.add(&directory, PendingAction::MakeDirectory(attributes));
                }
                Err(Errno::NOTDIR | Errno::LOOP) => return Err(self.changed(&directory)),
                Err(error) => return Err(self.directory.failed("open", &directory)(error)),
            }
            found.directories.insert(directory.clone());
        }
        Ok(())
    }

    fn attributes(&self, id: InodeId) -> NewAttributes {
        NewAttributes::new(&self.side.tree().inode(id).metadata, self.keep_owner)
    }
}
