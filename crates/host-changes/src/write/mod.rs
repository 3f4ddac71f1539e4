mod attributes;
mod directory;
mod written;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fstree::InodeId;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Stat, statat, unlinkat};
use rustix::io::Errno;

use super::attributes::Attributes;
use super::comparison::Comparison;
use super::host_directory::{Found, HostDirectory, split};
use super::host_file::{HostFile, HostState};
use super::path::relative;
use super::syncing::Syncing;
use super::unfinished::{Failure, FinalAttributes, NewFile, Unfinished, UnfinishedFiles};
use super::{ApplyError, HostAction, HostSource, Step};
pub(super) use written::{Written, run_all};

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
    /// The filesystems whose new files are synced together.
    syncing: Syncing,
    /// The new files that have no place yet.
    unfinished: UnfinishedFiles<'a>,
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
        if !self.unfinished.has(&step.path) {
            self.write(step)?;
        }
        let parent = self.parent(&step.path)?;
        let (from, waiting) = self.unfinished.take(&step.path)?;
        let made = Unfinished::of_waiting(&from, waiting);
        self.set_attributes(&made, &parent, (step, id))?;
        self.rename(made, &parent, step)
    }

    /// Gives the new file of a step its attributes.
    fn set_attributes(
        &self,
        made: &Unfinished<'_>,
        parent: &OwnedFd,
        (step, id): (&Step, InodeId),
    ) -> Result<(), ApplyError> {
        let stat = self.unchanged(parent, step)?;
        let inode = self.side.tree().inode(id);
        let mut metadata = inode.metadata.clone();
        match &stat {
            Some(stat) if !step.has_new_attributes => {
                metadata.mode = Attributes::of_host(stat, self.keep_owner).mode;
                (metadata.uid, metadata.gid) = (stat.st_uid, stat.st_gid);
            }
            _ => metadata.mode = Attributes::of_sandbox(&metadata, self.keep_owner).mode,
        }
        let replaced = stat.filter(|_| !self.keep_owner);
        let attributes = FinalAttributes {
            file_type: inode.kind.file_type(),
            metadata: &metadata,
            keep_owner: self.keep_owner,
            replaced_owner: replaced.map(|stat| (stat.st_uid, stat.st_gid)),
        };
        let set = made.set_attributes(&attributes, &self.syncing);
        set.map_err(|failure| self.failed(step, failure))
    }

    /// Writes the new file of a step under another name, next to its place: in the nearest directory that
    /// exists. Others than its owner cannot read it there, because its own directory may let fewer of them in. Does
    /// nothing for a step that has none.
    fn write(&mut self, step: &Step) -> Result<(), ApplyError> {
        let Some(id) = step.new else {
            return Ok(());
        };
        let is_directory = self.side.tree().directory(id).is_some();
        if is_directory || step.action == HostAction::ChangeAttributes {
            return Ok(());
        }
        let above = split(&step.path).0;
        let (parent, nearest) = self.directory.open_nearest(above)?;
        if nearest == above {
            self.unchanged(&parent, step)?;
        }
        let source = NewFile {
            side: self.side,
            inode: self.side.tree().inode(id),
            text: step.text.as_deref(),
        };
        let made = Unfinished::make(&parent, &source, &mut self.syncing);
        let made = made.map_err(|failure| self.failed(step, failure))?;
        self.unfinished.add(&step.path, nearest, made);
        Ok(())
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

    /// Checks that the host's file of a step is as it was when the step was planned. Directories are not
    /// compared: new files under other names are in them.
    fn check_unchanged(&self, step: &Step) -> Result<(), ApplyError> {
        let is_directory = |id| self.side.tree().directory(id).is_some();
        let is_attributes = step.action == HostAction::ChangeAttributes;
        if is_attributes && step.new.is_some_and(is_directory) {
            return Ok(());
        }
        let is_added = step.action == HostAction::Add;
        match (self.directory.find(&step.path)?, step.host) {
            (Found::Present(host), Some(planned)) if host.state() != planned => {
                Err(self.changed(&step.path))
            }
            (Found::Missing | Found::Blocked(_), Some(_)) => Err(self.changed(&step.path)),
            (Found::Present(_), None) if is_added => Err(self.changed(&step.path)),
            _ => Ok(()),
        }
    }

    fn rename(
        &self,
        made: Unfinished<'_>,
        parent: &OwnedFd,
        step: &Step,
    ) -> Result<(), ApplyError> {
        // Writing took time, in which the host's file may have changed.
        self.unchanged(parent, step)?;
        match made.rename((parent, split(&step.path).1), step.host.is_some()) {
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
            Failure::Replaced => self.changed(&step.path),
        }
    }
}
