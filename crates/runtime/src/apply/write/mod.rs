mod attributes;
mod directory;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fstree::InodeId;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Stat, statat, unlinkat};
use rustix::io::Errno;

use super::attributes::Attributes;
use super::check::check;
use super::comparison::Comparison;
use super::host_directory::{Found, HostDirectory, HostFile, HostState, split};
use super::path::{relative, trimmed};
use super::plan::Plan;
use super::unfinished::{Failure, Unfinished};
use super::{ApplyError, ApplyOptions, HostAction, HostSource, Step};

/// Does the steps of a plan without conflicts.
pub(super) fn run<S: HostSource>(
    (old, new): (&S, &S),
    directory: &HostDirectory,
    options: &ApplyOptions,
    plan: &Plan,
) -> Result<(), ApplyError> {
    check(directory, plan)?;
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
    };
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

struct Writer<'a, S> {
    side: &'a S,
    comparison: Comparison<'a, S>,
    directory: &'a HostDirectory,
    from: Vec<u8>,
    keep_owner: bool,
    /// The directories that get attributes when everything is in them. True for a new one, which
    /// gets its time too.
    directories: BTreeMap<Vec<u8>, (InodeId, bool)>,
    /// The directories whose names changed.
    touched: BTreeSet<Vec<u8>>,
    /// The host's files that were compared with files of the sandbox of several names, and are
    /// equal.
    compared: HashMap<InodeId, HostState>,
}

impl<S: HostSource> Writer<'_, S> {
    /// Does a step that adds or changes a file.
    fn make(&mut self, step: &Step) -> Result<(), ApplyError> {
        let Some(id) = step.new else {
            return Ok(());
        };
        if self.side.tree().directory(id).is_some() {
            return self.make_directory(step, id);
        }
        if step.action == HostAction::ChangeAttributes {
            return self.change_attributes(step, id);
        }
        let parent = self.parent(&step.path)?;
        let stat = self.unchanged(&parent, step)?;
        let inode = self.side.tree().inode(id);
        let mut metadata = inode.metadata.clone();
        match &stat {
            Some(stat) if !step.has_new_attributes => {
                metadata.mode = Attributes::of_host(stat, self.keep_owner).mode;
                (metadata.uid, metadata.gid) = (stat.st_uid, stat.st_gid);
            }
            _ => metadata.mode = Attributes::of_sandbox(&metadata, self.keep_owner).mode,
        }
        let made = Unfinished::make(&parent, self.side, inode, &metadata, self.keep_owner);
        let made = made.map_err(|failure| self.failed(step, failure))?;
        if let Some(stat) = stat.filter(|_| !self.keep_owner) {
            made.take_owner((stat.st_uid, stat.st_gid));
        }
        self.rename(made, &parent, step)
    }

    /// Makes a file that is another name of one that the host has now. If it cannot be one, it is a
    /// file by itself.
    fn link(&mut self, step: &Step, link: &[u8]) -> Result<(), ApplyError> {
        let (Some(id), Some(link)) = (step.new, relative(link, &self.from)) else {
            return self.make(step);
        };
        let Found::Present(other) = self.directory.find(link)? else {
            return self.make(step);
        };
        let is_same = step.action != HostAction::ChangeAttributes
            && self.comparison.has_attributes(self.side, id, &other)
            && self.is_equal(link, id, &other)?;
        if !is_same {
            return self.make(step);
        }
        let parent = self.parent(&step.path)?;
        self.unchanged(&parent, step)?;
        match Unfinished::link(&parent, (&other.parent, &other.name)) {
            Ok(made) => self.rename(made, &parent, step),
            // Another filesystem, a protected file, or too many names.
            Err(_) => self.make(step),
        }
    }

    /// Returns true if a file of the host has the content of one of the sandbox. It is compared
    /// once, not for each of its names.
    fn is_equal(&mut self, path: &[u8], id: InodeId, host: &HostFile) -> Result<bool, ApplyError> {
        if self.compared.get(&id) == Some(&host.state()) {
            return Ok(true);
        }
        let is_equal = self.comparison.has_content(path, self.side, id, host)?;
        if is_equal {
            self.compared.insert(id, host.state());
        }
        Ok(is_equal)
    }

    fn rename(
        &self,
        made: Unfinished<'_>,
        parent: &OwnedFd,
        step: &Step,
    ) -> Result<(), ApplyError> {
        // Writing took time, in which the host's file may have changed.
        self.unchanged(parent, step)?;
        match made.rename(split(&step.path).1, step.host.is_some()) {
            Err(Errno::EXIST | Errno::ISDIR) => Err(self.changed(&step.path)),
            renamed => renamed.map_err(self.directory.failed("replace", &step.path)),
        }
    }

    fn remove(&mut self, step: &Step) -> Result<(), ApplyError> {
        let path = &step.path;
        let (above, name) = split(path);
        let parent = match self.directory.open_directory(above) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
            opened => opened.map_err(self.directory.failed("open", above))?,
        };
        self.unchanged(&parent, step)?;
        let mut flags = AtFlags::empty();
        flags.set(AtFlags::REMOVEDIR, step.host.is_none());
        match unlinkat(&parent, name, flags) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => return Err(self.changed(path)),
            removed => removed.map_err(self.directory.failed("remove", path))?,
        }
        self.touched.insert(above.to_vec());
        Ok(())
    }

    /// Opens the directory that a file is in, for reading. Missing ones are made like those of the
    /// sandbox.
    fn parent(&mut self, path: &[u8]) -> Result<OwnedFd, ApplyError> {
        let (above, _) = split(path);
        self.touched.insert(above.to_vec());
        match self.directory.open_directory(above) {
            Ok(parent) => Ok(parent),
            Err(Errno::NOENT) => {
                let parent = self.parent(above)?;
                let in_sandbox = [&self.from[..], b"/", above].concat();
                let id = self.side.tree().find(&in_sandbox);
                let id = id.ok_or_else(|| self.changed(above))?;
                self.add_directory(&parent, above, id)?;
                let opened = self.directory.open_directory(above);
                opened.map_err(self.directory.failed("open", above))
            }
            Err(error) => Err(self.directory.failed("open", above)(error)),
        }
    }

    /// Checks that a file of the host is as it was when the step was planned, and returns its
    /// attributes; `None` if the step has no such file.
    fn unchanged(&self, parent: &OwnedFd, step: &Step) -> Result<Option<Stat>, ApplyError> {
        let Some(planned) = step.host else {
            return Ok(None);
        };
        match statat(parent, split(&step.path).1, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if HostState::new(&stat) == planned => Ok(Some(stat)),
            Ok(_) | Err(Errno::NOENT) => Err(self.changed(&step.path)),
            Err(error) => Err(self.directory.failed("find", &step.path)(error)),
        }
    }

    fn changed(&self, path: &[u8]) -> ApplyError {
        ApplyError::Changed {
            path: self.directory.path_of(path),
        }
    }

    fn failed(&self, step: &Step, failure: Failure) -> ApplyError {
        match failure {
            Failure::Host(action, source) => ApplyError::Host {
                action,
                path: self.directory.path_of(&step.path),
                source,
            },
            Failure::Sandbox(source) => ApplyError::Read {
                path: step.path.clone(),
                source,
            },
        }
    }
}
