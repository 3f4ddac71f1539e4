//! Other names of files that the directory has.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use fstree::FileType;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, linkat, mknodat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::exchange::Exchange;
use super::{Ended, Finisher, Now, stat};
use crate::ApplyError;
use crate::attributes::Attributes;
use crate::comparison::next_data;
use crate::host_directory::{Found, split};
use crate::host_file::{HostFile, HostState};
use crate::pending::Link;
use crate::unfinished::{FileIdentity, PIECE_BYTES, create};

/// A file under another name, which is removed with this value unless the name is gone.
struct Aside<'a> {
    directory: &'a OwnedFd,
    name: &'a [u8],
    is_gone: bool,
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        // A file that stays is removed by the next run.
        if !self.is_gone {
            let _ = unlinkat(self.directory, self.name, AtFlags::empty());
        }
    }
}

impl Finisher<'_> {
    /// Makes a file that is another name of one that the host has now. If it cannot be one, it is a copy.
    pub(super) fn link(&mut self, path: &[u8], link: &Link) -> Result<Ended, ApplyError> {
        let Some(parent) = self.parent(path)? else {
            return Ok(Ended::Left(None));
        };
        if self.is_resumed
            && let Some(ended) = self.resume_link(&parent, path, link)?
        {
            return Ok(ended);
        }
        let host = match (self.now(&parent, path, link.host.as_ref())?, &link.host) {
            (Now::Missing, None) => None,
            (Now::Planned(stat), _) => Some(stat),
            (Now::Missing | Now::Other, _) => return Ok(Ended::Left(None)),
        };
        // An editor that saves a file puts another one in its place.
        let other = match self.directory.find(&link.other)? {
            Found::Present(other) if other.stat.st_ino == link.inode => other,
            _ => return Ok(Ended::Left(None)),
        };
        let mut aside = Aside {
            directory: &parent,
            name: &link.name,
            is_gone: false,
        };
        let is_linked = self.has_attributes(&other, link)
            && linkat(
                &other.parent,
                &other.name[..],
                &parent,
                &link.name[..],
                AtFlags::empty(),
            )
            .is_ok();
        if !is_linked {
            // Another filesystem, a protected file, too many names, or other permissions.
            copy(&other, &parent, &link.name).map_err(|source| ApplyError::Host {
                action: "copy",
                path: self.directory.path_of(&link.other),
                source,
            })?;
        }
        let made = stat(&parent, &link.name).map_err(self.directory.failed("find", path))?;
        let made = made.ok_or(Errno::NOENT);
        let made = made.map_err(self.directory.failed("find", path))?;
        let exchange = of_link((&parent, split(path).1), link, FileIdentity::new(&made));
        if !is_linked {
            let keeps = host.as_ref().filter(|_| link.keeps_attributes);
            self.set_attributes(&exchange, path, (&link.attributes, keeps, host.as_ref()))?;
        }
        let ended = match &link.host {
            Some(planned) => exchange.replace(planned),
            None => exchange.add(),
        };
        let ended = ended.map_err(self.directory.failed("replace", path))?;
        aside.is_gone = true;
        Ok(ended)
    }

    /// Returns true if a file of the host has the attributes of the sandbox's file.
    fn has_attributes(&self, other: &HostFile, link: &Link) -> bool {
        let wanted = Attributes::of_sandbox(&link.attributes.metadata(), self.keep_owner);
        let found = Attributes::of_host(&other.stat, self.keep_owner);
        let is_symlink = other.file_type() == Some(FileType::Symlink);
        found == wanted || (is_symlink && found.owner == wanted.owner)
    }

    /// Ends what a process that was killed began; `None` if the step is to be done.
    fn resume_link(
        &self,
        parent: &OwnedFd,
        path: &[u8],
        link: &Link,
    ) -> Result<Option<Ended>, ApplyError> {
        let failed = self.directory.failed("find", path);
        let name = split(path).1;
        let placed = stat(parent, name).map_err(&failed)?;
        let aside = stat(parent, &link.name).map_err(&failed)?;
        let is_linked = placed.is_some_and(|placed| placed.st_ino == link.inode);
        let Some(aside) = aside else {
            return Ok(is_linked.then_some(Ended::Done));
        };
        let own = placed.as_ref().unwrap_or(&aside);
        let exchange = of_link((parent, name), link, FileIdentity::new(own));
        let remove = || {
            let removed = unlinkat(parent, &link.name[..], AtFlags::empty());
            removed.map_err(self.directory.failed("tidy up", path))
        };
        let state = Some(HostState::new(&aside));
        // The old file came out of the exchange.
        if link.host.is_some() && state == link.host {
            remove()?;
            return Ok(Some(Ended::Done));
        }
        let placed_state = placed.as_ref().map(HostState::new);
        if aside.st_ino == link.inode || link.host.is_none() || placed_state == link.host {
            // It did not get its place, and a copy may not be complete.
            remove()?;
            return Ok(is_linked.then_some(Ended::Done));
        }
        match &link.host {
            Some(planned) if is_linked => {
                let ended = exchange.settle(planned);
                Ok(Some(ended.map_err(self.directory.failed("replace", path))?))
            }
            _ => Ok(Some(exchange.keep())),
        }
    }
}

fn of_link<'a>(
    (parent, name): (&'a OwnedFd, &'a [u8]),
    link: &'a Link,
    identity: FileIdentity,
) -> Exchange<'a> {
    Exchange {
        from: parent,
        other: &link.name,
        to: parent,
        name,
        identity,
    }
}

/// Copies a file of the host. Only its owner can open the copy, whose content is durable.
fn copy(other: &HostFile, directory: &OwnedFd, name: &[u8]) -> io::Result<()> {
    match other.file_type() {
        Some(FileType::Regular) => {
            let (from, to) = (other.open()?, create(directory, name)?);
            copy_data(&from, &to)?;
            to.sync_all()
        }
        Some(FileType::Symlink) => Ok(symlinkat(&other.link_target()?[..], directory, name)?),
        Some(FileType::Fifo) => {
            let file_type = rustix::fs::FileType::Fifo;
            Ok(mknodat(
                directory,
                name,
                file_type,
                Mode::RUSR | Mode::WUSR,
                0,
            )?)
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Copies the data of a file. Holes stay holes.
fn copy_data(from: &File, to: &File) -> io::Result<()> {
    let size_bytes = from.metadata()?.len();
    let mut buffer = vec![0; usize::try_from(PIECE_BYTES).unwrap_or(0)];
    let mut offset_bytes = 0;
    while offset_bytes < size_bytes {
        let Some(next_bytes) = next_data(from, offset_bytes)? else {
            break;
        };
        let read = from.read_at(&mut buffer, next_bytes)?;
        if read == 0 {
            break;
        }
        to.write_all_at(&buffer[..read], next_bytes)?;
        offset_bytes = next_bytes.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
    }
    to.set_len(size_bytes)
}
