use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;

use fs_err as fs;
use fstree::{InodeId, Metadata};
use rustix::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use rustix::fs::{
    Access, AtFlags, Gid, Mode, OFlags, Stat, Uid, accessat, chownat, fstatvfs, fsync, mkdirat,
    openat, statat, unlinkat,
};
use rustix::io::Errno;
use tree_archive::set_attributes;

use super::attributes::Attributes;
use super::comparison::Comparison;
use super::host_directory::{Found, HostDirectory, HostState, is_unfinished, names, split};
use super::plan::{Plan, trimmed};
use super::unfinished::{Failure, Unfinished};
use super::{ApplyError, ApplyOptions, HostAction, HostSource, Step};

/// Does the steps of a plan without conflicts.
pub(super) fn run<S: HostSource>(
    (old, new): (&S, &S),
    directory: &HostDirectory,
    options: &ApplyOptions,
    plan: &Plan,
) -> Result<(), ApplyError> {
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
    };
    writer.check(plan)?;
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
}

impl<S: HostSource> Writer<'_, S> {
    /// Checks what can be known before anything is written, and removes unfinished files.
    fn check(&self, plan: &Plan) -> Result<(), ApplyError> {
        let mut parents: BTreeSet<&[u8]> =
            plan.steps.iter().map(|step| split(&step.path).0).collect();
        for step in &plan.steps {
            if step.action == HostAction::Remove {
                parents.insert(&step.path);
            }
        }
        let mut open = Vec::new();
        for parent in parents {
            match self.directory.open_directory(parent) {
                Ok(directory) => open.push((parent, directory)),
                // It is made, or it is a file that is removed.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => return Err(self.directory.failed("open", parent)(error)),
            }
        }
        for (path, directory) in &open {
            let access = Access::WRITE_OK | Access::EXEC_OK;
            accessat(directory, c".", access, AtFlags::EACCESS)
                .map_err(self.directory.failed("write to", path))?;
        }
        self.check_room(plan.needed_bytes)?;
        for (path, directory) in &open {
            remove_unfinished(directory).map_err(self.directory.failed("tidy up", path))?;
        }
        Ok(())
    }

    fn check_room(&self, needed_bytes: u64) -> Result<(), ApplyError> {
        let root = self.open(b"")?;
        let room = fstatvfs(&root).map_err(self.directory.failed("inspect", b""))?;
        let free_bytes = room.f_bavail.saturating_mul(room.f_frsize);
        if needed_bytes <= free_bytes {
            return Ok(());
        }
        Err(ApplyError::Full {
            path: self.directory.path_of(b""),
            needed_bytes,
            free_bytes,
        })
    }

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
        let (_, name) = split(&step.path);
        let stat = self.unchanged(&parent, step)?;
        let inode = self.side.tree().inode(id);
        let mut metadata = inode.metadata.clone();
        if let Some(stat) = &stat
            && !step.has_new_attributes
        {
            metadata.mode = u16::try_from(stat.st_mode & 0o7777).unwrap_or(metadata.mode);
        } else {
            metadata.mode = Attributes::of_sandbox(&metadata, self.keep_owner).mode;
        }
        let keeps_owner = self.keep_owner && (stat.is_none() || step.has_new_attributes);
        let made = Unfinished::make(&parent, self.side, inode, &metadata, keeps_owner);
        let made = made.map_err(|failure| self.failed(step, failure))?;
        if let Some(stat) = stat.filter(|_| !keeps_owner) {
            made.take_owner((stat.st_uid, stat.st_gid));
        }
        self.rename(made, step, name)
    }

    /// Makes a file that is another name of one that the host has now. If it cannot be one, it is a
    /// file by itself.
    fn link(&mut self, step: &Step, link: &[u8]) -> Result<(), ApplyError> {
        let (Some(id), Found::Present(other)) = (step.new, self.directory.find(link)?) else {
            return self.make(step);
        };
        let is_same = step.action != HostAction::ChangeAttributes
            && self.comparison.has_attributes(self.side, id, &other)
            && self.comparison.has_content(link, self.side, id, &other)?;
        if !is_same {
            return self.make(step);
        }
        let parent = self.parent(&step.path)?;
        self.unchanged(&parent, step)?;
        match Unfinished::link(&parent, (&other.parent, &other.name)) {
            Ok(made) => self.rename(made, step, split(&step.path).1),
            // Another filesystem, a protected file, or too many names.
            Err(_) => self.make(step),
        }
    }

    fn rename(&self, made: Unfinished<'_>, step: &Step, name: &[u8]) -> Result<(), ApplyError> {
        match made.rename(name, step.host.is_some()) {
            Err(Errno::EXIST | Errno::ISDIR) => Err(self.changed(&step.path)),
            renamed => renamed.map_err(self.directory.failed("replace", &step.path)),
        }
    }

    fn make_directory(&mut self, step: &Step, id: InodeId) -> Result<(), ApplyError> {
        let path = &step.path;
        if step.action == HostAction::ChangeAttributes {
            self.directories.insert(path.clone(), (id, false));
            return Ok(());
        }
        let parent = self.parent(path)?;
        if step.host.is_some() {
            self.unchanged(&parent, step)?;
            unlinkat(&parent, split(path).1, AtFlags::empty())
                .map_err(self.directory.failed("replace", path))?;
        }
        self.add_directory(&parent, path, id)
    }

    /// Makes a directory that others can enter already if they will be able to.
    fn add_directory(
        &mut self,
        parent: &OwnedFd,
        path: &[u8],
        id: InodeId,
    ) -> Result<(), ApplyError> {
        let mode = u32::from(self.side.tree().inode(id).metadata.mode & 0o777);
        match mkdirat(parent, split(path).1, Mode::from_raw_mode(mode | 0o700)) {
            Err(Errno::EXIST) => Err(self.changed(path)),
            made => made.map_err(self.directory.failed("create", path)),
        }?;
        self.directories.insert(path.to_vec(), (id, true));
        Ok(())
    }

    /// Changes the attributes of a file of the host. The file is opened without reading or writing
    /// it, which may not be permitted.
    fn change_attributes(&mut self, step: &Step, id: InodeId) -> Result<(), ApplyError> {
        let parent = self.parent(&step.path)?;
        self.unchanged(&parent, step)?;
        let failed = self.directory.failed("set the attributes of", &step.path);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&parent, split(&step.path).1, flags, Mode::empty()).map_err(&failed)?;
        self.set_mode(&file, &self.side.tree().inode(id).metadata, &step.path)
    }

    /// Sets the permissions of a file that is opened for nothing else, and its owner.
    fn set_mode(&self, file: &OwnedFd, metadata: &Metadata, path: &[u8]) -> Result<(), ApplyError> {
        let host_error = |source| ApplyError::Host {
            action: "set the attributes of",
            path: self.directory.path_of(path),
            source,
        };
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        let wanted = Attributes::of_sandbox(metadata, self.keep_owner);
        if let Some((uid, gid)) = wanted.owner {
            let itself = AtFlags::EMPTY_PATH;
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
            chownat(file, c"", Some(uid), Some(gid), itself)
                .map_err(|error| host_error(error.into()))?;
        }
        let mode = Permissions::from_mode(wanted.mode.into());
        fs::set_permissions(&open, mode).map_err(host_error)
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

    /// Gives directories their attributes, and makes all names durable.
    fn finish(self) -> Result<(), ApplyError> {
        // Of a directory's path the longer ones come later.
        for (path, &(id, is_new)) in self.directories.iter().rev() {
            let failed = self.directory.failed("set the attributes of", path);
            let directory = self.open(path)?;
            let mut metadata = self.side.tree().inode(id).metadata.clone();
            metadata.mode = Attributes::of_sandbox(&metadata, self.keep_owner).mode;
            if is_new {
                set_attributes(directory.as_fd(), &metadata, self.keep_owner).map_err(failed)?;
            } else {
                self.set_mode(&directory, &metadata, path)?;
            }
        }
        for path in &self.touched {
            match self.open(path) {
                Ok(directory) => {
                    fsync(&directory).map_err(self.directory.failed("sync", path))?;
                }
                // It was removed itself, and may be a file now.
                Err(ApplyError::Host { source, .. })
                    if matches!(
                        source.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) => {}
                Err(error) => return Err(error),
            }
        }
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

    /// Opens a directory for reading.
    fn open(&self, path: &[u8]) -> Result<OwnedFd, ApplyError> {
        let failed = self.directory.failed("open", path);
        let found = self.directory.open_directory(path).map_err(&failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&found, c".", flags, Mode::empty()).map_err(failed)
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

/// Removes what a process that was killed left in a directory.
fn remove_unfinished(directory: &OwnedFd) -> rustix::io::Result<()> {
    for name in names(directory)? {
        if is_unfinished(&name) {
            match unlinkat(directory, &name[..], AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT | Errno::ISDIR) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
