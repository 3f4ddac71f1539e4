//! A new file that takes its place. The two exchange their names, so that an edit that an editor made an instant ago is
//! seen under the other name, and put back.

#[cfg(test)]
mod tests;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, RenameFlags, Stat, renameat, renameat_with, unlinkat};
use rustix::io::{Errno, Result};

use super::{Ended, stat};
use crate::host_file::HostState;
use crate::unfinished::FileIdentity;

/// The end of the name of an edit that could not be put back.
const KEPT: &str = ".msb-kept";
/// The start of such a name if the file's name is too long for another end.
const KEPT_ALONE: &[u8] = b"msb-kept-";
/// The most edits of one file that are kept.
const KEPT_MAX: u32 = 9;

/// A new file under another name, and its place.
pub(super) struct Exchange<'a> {
    /// The open directory and the name that it has until then.
    pub(super) from: &'a OwnedFd,
    pub(super) other: &'a [u8],
    /// The open directory and the name of its place.
    pub(super) to: &'a OwnedFd,
    pub(super) name: &'a [u8],
    pub(super) identity: FileIdentity,
}

/// The state of an exchange that a process was making when it was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// The new file waits for its place.
    Waiting,
    /// The new file is in its place, and the old one under the other name.
    Exchanged,
    /// The new file is in its place.
    Done,
    /// The new file is not there.
    Lost,
    /// The new file is not there, and another one is under its other name.
    Replaced,
}

impl Exchange<'_> {
    /// Returns the state of the two names.
    pub(super) fn look(&self) -> Result<Seen> {
        let is_own =
            |found: Option<Stat>| found.map(|stat| FileIdentity::new(&stat) == self.identity);
        let waiting = match stat(self.from, self.other) {
            // A directory gets permissions that keep its owner out when all is in it.
            Err(Errno::ACCESS) => return Ok(Seen::Done),
            waiting => is_own(waiting?),
        };
        let placed = match stat(self.to, self.name) {
            Err(Errno::ACCESS) => Some(true),
            placed => is_own(placed?),
        };
        Ok(match (waiting, placed) {
            (Some(true), _) => Seen::Waiting,
            (Some(false), Some(true)) => Seen::Exchanged,
            (None, Some(true)) => Seen::Done,
            (Some(false), _) => Seen::Replaced,
            (None, _) => Seen::Lost,
        })
    }

    /// Puts the file where the host has none. Its other name is gone then.
    pub(super) fn add(&self) -> Result<Ended> {
        let renamed = match self.rename(RenameFlags::NOREPLACE) {
            // Not every filesystem can.
            Err(Errno::INVAL | Errno::NOSYS) => match stat(self.to, self.name)? {
                None => renameat(self.from, self.other, self.to, self.name),
                Some(_) => Err(Errno::EXIST),
            },
            renamed => renamed,
        };
        match renamed {
            Ok(()) => Ok(Ended::Done),
            Err(Errno::EXIST | Errno::ISDIR | Errno::NOTDIR | Errno::NOTEMPTY) => Ok(self.leave()),
            Err(error) => Err(error),
        }
    }

    /// Puts the file in the place of one in a planned state. Its other name is gone then.
    pub(super) fn replace(&self, planned: &HostState) -> Result<Ended> {
        match self.rename(RenameFlags::EXCHANGE) {
            Ok(()) => self.settle(planned),
            // Not every filesystem can.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => self.replace_plainly(planned),
            Err(Errno::NOENT) if stat(self.to, self.name)?.is_none() => Ok(self.leave()),
            Err(error) => Err(error),
        }
    }

    /// Ends an exchange: removes the old file if it is the planned one, and puts it back if it is another one.
    pub(super) fn settle(&self, planned: &HostState) -> Result<Ended> {
        match stat(self.from, self.other) {
            Ok(Some(old)) if HostState::new(&old) == *planned => {
                unlinkat(self.from, self.other, AtFlags::empty())?;
                Ok(Ended::Done)
            }
            Ok(Some(_)) => Ok(self.put_back()),
            Ok(None) => Ok(Ended::Done),
            Err(error) => {
                let _ = self.rename(RenameFlags::EXCHANGE);
                Err(error)
            }
        }
    }

    /// Leaves the host's file in its place, and removes the new one.
    pub(super) fn leave(&self) -> Ended {
        let _ = unlinkat(self.from, self.other, AtFlags::empty());
        Ended::Left(None)
    }

    /// Keeps the file under the other name, which is an edit of the host's file, beside the place.
    pub(super) fn keep(&self) -> Ended {
        let flags = RenameFlags::NOREPLACE;
        for name in self.kept_names() {
            if renameat_with(self.from, self.other, self.to, &name[..], flags).is_ok() {
                return Ended::Left(Some(name));
            }
        }
        Ended::Left(Some(self.other.to_vec()))
    }

    /// Puts an edit back that came out of an exchange.
    fn put_back(&self) -> Ended {
        if self.rename(RenameFlags::EXCHANGE).is_err() {
            // The place is free if the new file was removed there.
            return match self.rename(RenameFlags::NOREPLACE) {
                Ok(()) => Ended::Left(None),
                Err(_) => self.keep(),
            };
        }
        let came_out = stat(self.from, self.other).ok().flatten();
        if came_out.is_none_or(|stat| FileIdentity::new(&stat) == self.identity) {
            return self.leave();
        }
        // The place had a still newer edit: it goes back, and the earlier one is kept.
        let _ = self.rename(RenameFlags::EXCHANGE);
        self.keep()
    }

    fn replace_plainly(&self, planned: &HostState) -> Result<Ended> {
        let found = stat(self.to, self.name)?;
        if found.is_none_or(|found| HostState::new(&found) != *planned) {
            return Ok(self.leave());
        }
        match renameat(self.from, self.other, self.to, self.name) {
            Ok(()) => Ok(Ended::Done),
            Err(Errno::EXIST | Errno::ISDIR | Errno::NOTDIR | Errno::NOTEMPTY) => Ok(self.leave()),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, flags: RenameFlags) -> Result<()> {
        renameat_with(self.from, self.other, self.to, self.name, flags)
    }

    /// Returns the names that an edit is kept under, the best one first.
    fn kept_names(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let numbered = (2..=KEPT_MAX).map(|number| format!("{KEPT}-{number}"));
        let ends = std::iter::once(KEPT.to_owned()).chain(numbered);
        let names = ends.map(move |end| [self.name, end.as_bytes()].concat());
        let digits = self.other.iter().rposition(|&byte| byte == b'-');
        let digits = &self.other[digits.map_or(0, |end| end + 1)..];
        names.chain(std::iter::once([KEPT_ALONE, digits].concat()))
    }
}
