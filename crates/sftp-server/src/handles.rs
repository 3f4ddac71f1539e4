//! The files and directories that a client has open.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::Dir;

use crate::{HANDLES_MAX, Status};

/// An open file or directory.
#[derive(Debug)]
pub(crate) enum Opened {
    /// A file.
    File {
        file: OwnedFd,
        /// True if writes go to the end of the file.
        is_append: bool,
    },
    /// A directory, and the entries that were not read.
    Directory(Box<Dir>),
}

impl Opened {
    /// Returns the descriptor.
    pub(crate) fn descriptor(&self) -> Result<BorrowedFd<'_>, Status> {
        match self {
            Self::File { file, .. } => Ok(file.as_fd()),
            Self::Directory(directory) => Ok(directory.fd()?),
        }
    }
}

/// All open files and directories, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    opened: BTreeMap<u32, Opened>,
    next: u32,
}

impl Handles {
    /// Fails if no more files may be open.
    pub(crate) fn has_room(&self) -> Result<(), Status> {
        if self.opened.len() < HANDLES_MAX {
            Ok(())
        } else {
            Err(Status::Failure)
        }
    }

    /// Returns the handle of a file that was opened.
    pub(crate) fn insert(&mut self, opened: Opened) -> Vec<u8> {
        while self.opened.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.opened.insert(number, opened);
        number.to_be_bytes().to_vec()
    }

    pub(crate) fn get(&self, handle: &[u8]) -> Result<&Opened, Status> {
        let opened = number(handle).and_then(|number| self.opened.get(&number));
        opened.ok_or(Status::Failure)
    }

    pub(crate) fn directory(&mut self, handle: &[u8]) -> Result<&mut Dir, Status> {
        let opened = number(handle).and_then(|number| self.opened.get_mut(&number));
        match opened {
            Some(Opened::Directory(directory)) => Ok(directory),
            _ => Err(Status::Failure),
        }
    }

    pub(crate) fn close(&mut self, handle: &[u8]) -> Result<(), Status> {
        let opened = number(handle).and_then(|number| self.opened.remove(&number));
        opened.map(drop).ok_or(Status::Failure)
    }
}

fn number(handle: &[u8]) -> Option<u32> {
    handle.try_into().ok().map(u32::from_be_bytes)
}
