//! The walk through the sources.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use fstree::{
    Directory, FileData, FileKind, Inode, InodeId, Metadata, Name, Timestamp, Tree, Xattrs,
};
use path_rules::{Decision, Origin, Scope, State};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, open, readlinkat, statat};

use crate::found::{Content, Found, Source};
use crate::host::{failed, joined, names, open_path};
use crate::key::digest;
use crate::left_out::{LeftOut, last};
use crate::notices::LARGE_BYTES;
use crate::stamp::Stamp;
use crate::{Notices, StageError};

/// Maximum depth of directories in each other. Each takes an open file while the walk is below it.
const DEPTH_MAX: usize = 256;
/// Number of directories that a large image's notice names.
const LARGEST: usize = 3;

/// The files that the walk has found.
pub(crate) struct Walked {
    pub(crate) tree: Tree<Content>,
    pub(crate) digest: blake3::Hasher,
    pub(crate) notices: Notices,
    /// The stamp of the last change.
    pub(crate) newest: Option<Stamp>,
    /// The number of names that were listed.
    listed: usize,
    left_out: LeftOut,
}

struct Walker<'a> {
    found: Walked,
    source: Source<'a>,
    number: usize,
    /// The maximum number of names that are listed in all sources.
    names_max: usize,
    /// Files with several names, by their identity.
    several: HashMap<(u64, u64), InodeId>,
    /// The bytes of the files below each directory at the top of the source.
    sizes: HashMap<Vec<u8>, u64>,
    /// For each given rule, true if it matched a file.
    matched: Vec<bool>,
}

/// A directory whose files are being listed.
struct Open<'a> {
    file: OwnedFd,
    place: Place,
    scope: Scope<'a>,
    /// The path, relative to the source.
    path: Vec<u8>,
    /// The names that are not listed yet, the next one last.
    names: Vec<Vec<u8>>,
}

/// The place of a directory in the tree.
#[derive(Clone, Copy)]
enum Place {
    /// The directory is in the tree.
    Shown(InodeId),
    /// The directory is in the tree, empty and with mode 0, until a file in it is shown.
    Denied(InodeId),
    /// The directory is not in the tree until a file in it is shown.
    Hidden,
}

pub(crate) fn walk(sources: &[Source<'_>], names_max: usize) -> Result<Walked, StageError> {
    let mut found = Walked {
        tree: Tree::new(Metadata::directory(0o755)),
        digest: digest(),
        notices: Notices::default(),
        newest: None,
        listed: 0,
        left_out: LeftOut::default(),
    };
    for (number, source) in sources.iter().enumerate() {
        let mut walker = Walker {
            found,
            source: *source,
            number,
            names_max,
            several: HashMap::new(),
            sizes: HashMap::new(),
            matched: (source.rules.given().iter())
                .map(|rule| rule.pattern().matches(b""))
                .collect(),
        };
        walker.walk()?;
        found = walker.finish();
    }
    let left_out = std::mem::take(&mut found.left_out);
    left_out.finish(&mut found.tree, &mut found.notices);
    Ok(found)
}

impl<'a> Walker<'a> {
    fn walk(&mut self) -> Result<(), StageError> {
        let directory = self.source.directory;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = open(directory, flags, Mode::empty()).map_err(|error| match error {
            rustix::io::Errno::NOTDIR => StageError::NotDirectory {
                path: directory.to_owned(),
            },
            error => failed("open", directory, b"")(error),
        })?;
        let stat = fstat(&file).map_err(failed("examine", directory, b""))?;
        let stamp = Stamp::new(&stat);
        self.found.digest.update(&self.number.to_le_bytes());
        self.note(b"", &stamp, State::Allow);
        let metadata = self.metadata(&file, &stat, b"")?;
        let id = self.found.tree.add(Inode::directory(metadata));
        let root = self.found.tree.root();
        self.link(root, self.number.to_string().as_bytes(), id)?;
        let place = Place::Shown(id);
        let scope = self.source.rules.root();
        let mut open = vec![self.enter(file, place, scope, Vec::new())?];
        while let Some(directory) = open.last_mut() {
            let Some(name) = directory.names.pop() else {
                open.pop();
                continue;
            };
            let below = self.add(&mut open, &name)?;
            if below.is_some() && open.len() >= DEPTH_MAX {
                return Err(StageError::TooDeep {
                    path: below.map_or_else(Default::default, |below| {
                        joined(self.source.directory, &below.path)
                    }),
                    limit: DEPTH_MAX,
                });
            }
            open.extend(below);
        }
        Ok(())
    }

    fn finish(mut self) -> Walked {
        let total: u64 = self.sizes.values().sum();
        if total >= LARGE_BYTES {
            let mut sizes: Vec<_> = self.sizes.into_iter().collect();
            sizes.sort_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
            sizes.truncate(LARGEST);
            self.found.notices.largest.extend(sizes);
        }
        let left_out = &mut self.found.left_out;
        left_out.add_linked(self.several);
        left_out.add_rules(self.source.rules, &self.matched);
        self.found
    }

    /// Adds a file to the last of the open directories. Returns it if it is a directory to be listed.
    fn add(&mut self, open: &mut [Open<'a>], name: &[u8]) -> Result<Option<Open<'a>>, StageError> {
        let Some(above) = open.last() else {
            return Ok(None);
        };
        let path = child(&above.path, name);
        let matched = &mut self.matched;
        let decision = above.scope.decide_with(name, &mut |index| {
            if let Some(is_matched) = matched.get_mut(index) {
                *is_matched = true;
            }
        });
        // A directory that is kept out shows no names of denied files.
        let is_denied = decision.state == State::Deny;
        if is_hidden(decision.state) || is_denied && is_kept_out(above.scope.decision().state) {
            return self.leave_out(above, name, path, &decision);
        }
        let directory = self.source.directory;
        let file = match open_path(&above.file, name) {
            Ok(file) => file,
            // It was removed since the directory was listed.
            Err(rustix::io::Errno::NOENT) => {
                self.found.digest.update(b"removed");
                self.found.digest.update(&path);
                return Ok(None);
            }
            Err(error) => return Err(failed("open", directory, &path)(error)),
        };
        let stat = statat(&file, c"", AtFlags::EMPTY_PATH);
        let stat = stat.map_err(failed("examine", directory, &path))?;
        let stamp = Stamp::new(&stat);
        self.note(&path, &stamp, decision.state);
        let kind = FileType::from_raw_mode(stat.st_mode);
        if is_denied {
            let scope = above.scope.child(name);
            let parent = self.shown(open)?;
            let id = self.add_denied(parent, name, kind, &stat)?;
            if kind == FileType::Directory {
                return self.enter_kept_out(file, Place::Denied(id), scope, path);
            }
            self.found.left_out.add_file(&stamp);
            return Ok(None);
        }
        if let Some(&known) = self.several.get(&stamp.identity()) {
            let parent = self.shown(open)?;
            self.link(parent, name, known)?;
            return Ok(None);
        }
        let content = match kind {
            FileType::RegularFile => FileKind::Regular(Content::Host(Found {
                source: self.number,
                path: path.clone(),
                stamp,
                data: FileData::default(),
            })),
            FileType::Directory => FileKind::Directory(Directory::new()),
            FileType::Symlink => {
                let target = readlinkat(&file, c"", Vec::new());
                let target = target.map_err(failed("read", directory, &path))?;
                FileKind::Symlink(target.into_bytes().into())
            }
            FileType::Fifo => FileKind::Fifo,
            _ => {
                self.found
                    .notices
                    .add(|notices| &mut notices.special, &path[..]);
                return Ok(None);
            }
        };
        if kind == FileType::RegularFile && name == b".git" {
            self.found
                .notices
                .add(|notices| &mut notices.elsewhere, &above.path[..]);
        }
        let metadata = self.metadata(&file, &stat, &path)?;
        let inode = Inode {
            metadata,
            kind: content,
        };
        let scope = (kind == FileType::Directory).then(|| above.scope.child(name));
        let parent = self.shown(open)?;
        let id = self.found.tree.add(inode);
        self.count(&path, &stamp, kind);
        self.link(parent, name, id)?;
        if let Some(scope) = scope {
            return self.enter(file, Place::Shown(id), scope, path).map(Some);
        }
        if stamp.links > 1 {
            self.several.insert(stamp.identity(), id);
        }
        Ok(None)
    }

    /// Leaves a file out. Returns it if it is a directory in which a file may be shown.
    fn leave_out(
        &mut self,
        above: &Open<'a>,
        name: &[u8],
        path: Vec<u8>,
        decision: &Decision<'_>,
    ) -> Result<Option<Open<'a>>, StageError> {
        let is_default = |rule: &path_rules::Rule| rule.origin() == Origin::Default;
        let is_inherited = *decision == above.scope.decision();
        if decision.rule.is_some_and(is_default) && !is_inherited {
            self.found
                .notices
                .add(|notices| &mut notices.hidden, &path[..]);
        }
        let digest = &mut self.found.digest;
        digest.update(b"hidden");
        digest.update(&path.len().to_le_bytes());
        digest.update(&path);
        // A file that cannot be examined can be left out all the same.
        let Ok(file) = open_path(&above.file, name) else {
            return Ok(None);
        };
        let Ok(stat) = statat(&file, c"", AtFlags::EMPTY_PATH) else {
            return Ok(None);
        };
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return self.enter_kept_out(file, Place::Hidden, above.scope.child(name), path);
        }
        let stamp = Stamp::new(&stat);
        stamp.add_identity_to(digest);
        self.found.left_out.add_file(&stamp);
        Ok(None)
    }

    /// Returns a hidden or denied directory to be listed. `None` if no file in it may be shown.
    fn enter_kept_out(
        &mut self,
        file: OwnedFd,
        place: Place,
        scope: Scope<'a>,
        path: Vec<u8>,
    ) -> Result<Option<Open<'a>>, StageError> {
        if !scope.may_show_below() {
            // Its files are not looked at, so these rules may match one.
            for index in scope.given_below() {
                if let Some(is_matched) = self.matched.get_mut(index) {
                    *is_matched = true;
                }
            }
            return Ok(None);
        }
        match self.enter(file, place, scope, path) {
            // One that cannot be listed shows nothing.
            Err(StageError::Host { .. }) => Ok(None),
            entered => entered.map(Some),
        }
    }

    /// Returns the last of the open directories. Those that were kept out are added to the tree.
    fn shown(&mut self, open: &mut [Open<'a>]) -> Result<InodeId, StageError> {
        let is_shown = |directory: &Open<'_>| matches!(directory.place, Place::Shown(_));
        let start = open.iter().rposition(is_shown).unwrap_or_default();
        let mut above = self.found.tree.root();
        for directory in open.iter_mut().skip(start) {
            let path = &directory.path;
            if let Place::Shown(id) = directory.place {
                above = id;
                continue;
            }
            let stat = fstat(&directory.file);
            let stat = stat.map_err(failed("examine", self.source.directory, path))?;
            let stamp = Stamp::new(&stat);
            self.note(path, &stamp, State::Allow);
            let metadata = self.metadata(&directory.file, &stat, path)?;
            above = match directory.place {
                Place::Shown(id) | Place::Denied(id) => {
                    self.found.tree.inode_mut(id).metadata = metadata;
                    id
                }
                Place::Hidden => {
                    let id = self.found.tree.add(Inode::directory(metadata));
                    self.count(path, &stamp, FileType::Directory);
                    self.link(above, last(path), id)?;
                    id
                }
            };
            directory.place = Place::Shown(above);
        }
        Ok(above)
    }

    /// Adds an empty file or directory that nobody but root may open.
    fn add_denied(
        &mut self,
        above: InodeId,
        name: &[u8],
        kind: FileType,
        stat: &rustix::fs::Stat,
    ) -> Result<InodeId, StageError> {
        let metadata = Metadata {
            mode: 0,
            ..plain_metadata(stat)
        };
        let kind = match kind {
            FileType::Directory => FileKind::Directory(Directory::new()),
            _ => FileKind::Regular(Content::Denied),
        };
        let id = self.found.tree.add(Inode { metadata, kind });
        self.link(above, name, id)?;
        Ok(id)
    }

    /// Lists the names of a directory.
    fn enter(
        &mut self,
        file: OwnedFd,
        place: Place,
        scope: Scope<'a>,
        path: Vec<u8>,
    ) -> Result<Open<'a>, StageError> {
        let directory = self.source.directory;
        let listed = names(&file, self.names_max - self.found.listed);
        let listed = listed.map_err(failed("list", directory, &path))?;
        let mut names = listed.ok_or_else(|| StageError::TooMany {
            directory: directory.to_owned(),
            limit: self.names_max,
        })?;
        self.found.listed += names.len();
        names.reverse();
        Ok(Open {
            file,
            place,
            scope,
            path,
            names,
        })
    }

    /// Adds a file to the digest.
    fn note(&mut self, path: &[u8], stamp: &Stamp, state: State) {
        let digest = &mut self.found.digest;
        digest.update(&path.len().to_le_bytes());
        digest.update(path);
        digest.update(&[u8::from(state == State::Deny)]);
        stamp.add_to(digest);
        if stamp.is_newer_than(self.found.newest.as_ref()) {
            self.found.newest = Some(*stamp);
        }
    }

    /// Counts the bytes of a file.
    fn count(&mut self, path: &[u8], stamp: &Stamp, kind: FileType) {
        if kind == FileType::RegularFile {
            let top = path.split(|&byte| byte == b'/').next().unwrap_or(path);
            let size = self.sizes.entry(top.to_vec()).or_default();
            *size = size.saturating_add(stamp.size_bytes);
        }
    }

    fn metadata(
        &self,
        file: &OwnedFd,
        stat: &rustix::fs::Stat,
        path: &[u8],
    ) -> Result<Metadata, StageError> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let xattrs = if matches!(kind, FileType::RegularFile | FileType::Directory) {
            tree_archive::user_xattrs(file).map_err(|source| StageError::Host {
                action: "read the attributes of",
                path: joined(self.source.directory, path),
                source,
            })?
        } else {
            Xattrs::new()
        };
        Ok(Metadata {
            xattrs,
            ..plain_metadata(stat)
        })
    }

    fn link(&mut self, parent: InodeId, name: &[u8], id: InodeId) -> Result<(), StageError> {
        let name = Name::new(name).map_err(|source| StageError::Host {
            action: "name",
            path: joined(self.source.directory, name),
            source: std::io::Error::other(source),
        })?;
        self.found.tree.link(parent, name, id);
        Ok(())
    }
}

/// Returns true for a file that is not in the image.
const fn is_hidden(state: State) -> bool {
    matches!(state, State::Hide | State::Ask)
}

/// Returns true for a file whose content is not in the image.
const fn is_kept_out(state: State) -> bool {
    matches!(state, State::Hide | State::Ask | State::Deny)
}

/// Returns the owner, the mode and the time of a file.
pub(crate) fn plain_metadata(stat: &rustix::fs::Stat) -> Metadata {
    Metadata {
        mode: u16::try_from(stat.st_mode & 0o7777).unwrap_or(0),
        uid: stat.st_uid,
        gid: stat.st_gid,
        mtime: Timestamp {
            seconds: stat.st_mtime,
            nanoseconds: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
        },
        xattrs: Xattrs::new(),
    }
}

fn child(above: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = above.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

#[cfg(test)]
mod tests;
