//! Files in memory whose power can be cut, whose disk can be full and whose syncs can fail.
//!
//! Changes that are not synced may be lost in any part: of the writes to a file any subset of sectors is kept,
//! of the changes to names any number of the first, or any of them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use generations::{Access, Storage, StorageFile};

const SECTOR_LENGTH: usize = 512;

/// A pseudo-random sequence (xorshift64*), so that a case is its seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next()).unwrap() % end.max(1)
    }
}

#[derive(Debug, Clone)]
enum FileChange {
    Write(usize, Vec<u8>),
    Size(usize),
}

#[derive(Debug, Clone, Default)]
struct Inode {
    content: Vec<u8>,
    durable: Vec<u8>,
    changes: Vec<FileChange>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Insert(String, usize),
    Rename(String, String, usize),
    Remove(String),
}

/// The failure that the storage is to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Every call fails: the power is off.
    PowerOff,
    /// Every call that needs space fails, a write after its first half.
    Full,
    /// One sync fails, and what it should have written is never written.
    Sync,
}

#[derive(Debug, Clone, Default)]
struct Disk {
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    name_changes: Vec<NameChange>,
    /// The number of calls that changed something, and the call from which on one fails.
    calls: u64,
    /// The number of those that were syncs.
    syncs: u64,
    failure: Option<(u64, Failure)>,
    drawn: u64,
}

/// Simulated storage, one directory of a disk; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Simulated {
    disk: Arc<Mutex<Disk>>,
    /// The beginning of the names of its files.
    directory: String,
}

/// A simulated file.
#[derive(Debug)]
pub(crate) struct SimulatedFile {
    disk: Simulated,
    inode: usize,
}

impl Simulated {
    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap()
    }

    /// Returns another directory of the same disk.
    pub(crate) fn beside(&self, directory: &str) -> Self {
        Self {
            disk: Arc::clone(&self.disk),
            directory: format!("{directory}/"),
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.directory)
    }

    /// Makes calls fail from the one with this number on.
    pub(crate) fn fail_from(&self, call: u64, failure: Failure) {
        self.disk().failure = Some((call, failure));
    }

    pub(crate) fn heal(&self) {
        self.disk().failure = None;
    }

    pub(crate) fn calls(&self) -> u64 {
        self.disk().calls
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.disk().syncs
    }

    /// Returns the storage as it could be found after a power cut at this moment.
    pub(crate) fn after_power_cut(&self, random: &mut Random) -> Self {
        let disk = self.disk();
        let mut names = disk.durable_names.clone();
        let first = random.below(disk.name_changes.len() + 1);
        let is_ordered = random.below(2) == 0;
        for (index, change) in disk.name_changes.iter().enumerate() {
            let is_kept = if is_ordered {
                index < first
            } else {
                random.below(2) == 0
            };
            if is_kept {
                apply_name(&mut names, change);
            }
        }
        let inodes = disk.inodes.iter().map(|inode| {
            let content = torn(inode, random);
            Inode {
                durable: content.clone(),
                content,
                changes: Vec::new(),
            }
        });
        let inodes: Vec<Inode> = inodes.collect();
        let after = Disk {
            inodes,
            durable_names: names.clone(),
            names,
            drawn: disk.drawn,
            ..Disk::default()
        };
        Self {
            disk: Arc::new(Mutex::new(after)),
            directory: self.directory.clone(),
        }
    }

    /// Changes a file behind the pool's back.
    pub(crate) fn edit(&self, name: &str, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut disk = self.disk();
        let inode = disk.names[name];
        edit(&mut disk.inodes[inode].content);
    }

    /// Exchanges the content of two files.
    pub(crate) fn swap(&self, left: &str, right: &str) {
        let mut disk = self.disk();
        let (left_inode, right_inode) = (disk.names[left], disk.names[right]);
        disk.names.insert(left.to_owned(), right_inode);
        disk.names.insert(right.to_owned(), left_inode);
    }

    pub(crate) fn content(&self, name: &str) -> Vec<u8> {
        let disk = self.disk();
        disk.inodes[disk.names[name]].content.clone()
    }

    /// Puts a file into the storage, as if it lay elsewhere on the same filesystem.
    pub(crate) fn put(&self, name: &str, content: Vec<u8>) {
        let mut disk = self.disk();
        let inode = disk.inodes.len();
        disk.inodes.push(Inode {
            durable: content.clone(),
            content,
            changes: Vec::new(),
        });
        disk.names.insert(name.to_owned(), inode);
        disk.durable_names.insert(name.to_owned(), inode);
    }

    /// Copies everything, so that a test can damage the copy.
    pub(crate) fn copy(&self) -> Self {
        Self {
            disk: Arc::new(Mutex::new(self.disk().clone())),
            directory: self.directory.clone(),
        }
    }
}

/// Returns a file of which any part of the unsynced changes was kept.
fn torn(inode: &Inode, random: &mut Random) -> Vec<u8> {
    let mut content = inode.durable.clone();
    // Often nothing or everything is kept; between them lie the torn ones.
    let mode = random.below(4);
    for change in &inode.changes {
        let mut is_kept = || match mode {
            0 => false,
            1 => true,
            _ => random.below(2) == 0,
        };
        match change {
            FileChange::Size(size) if is_kept() => content.resize(*size, 0),
            FileChange::Size(_) => {}
            FileChange::Write(offset, bytes) => {
                let mut at = *offset;
                for part in bytes.chunks(SECTOR_LENGTH) {
                    if is_kept() {
                        write(&mut content, at, part);
                    }
                    at += part.len();
                }
            }
        }
    }
    content
}

fn write(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

fn apply_name(names: &mut BTreeMap<String, usize>, change: &NameChange) {
    match change {
        NameChange::Insert(name, inode) => {
            names.insert(name.clone(), *inode);
        }
        NameChange::Rename(from, to, inode) => {
            names.remove(from);
            names.insert(to.clone(), *inode);
        }
        NameChange::Remove(name) => {
            names.remove(name);
        }
    }
}

impl Disk {
    /// Counts a call, and returns its failure.
    fn call(&mut self, needs_space: bool, is_sync: bool) -> io::Result<()> {
        let call = self.calls;
        self.calls += 1;
        self.syncs += u64::from(is_sync);
        match self.failure {
            Some((from, Failure::PowerOff)) if call >= from => {
                Err(io::Error::other("the power is off"))
            }
            Some((from, Failure::Full)) if call >= from && needs_space => {
                Err(io::ErrorKind::StorageFull.into())
            }
            Some((from, Failure::Sync)) if call >= from && is_sync => {
                self.failure = None;
                Err(io::Error::other("an error of the disk"))
            }
            _ => Ok(()),
        }
    }

    fn change_names(&mut self, change: NameChange) {
        apply_name(&mut self.names, &change);
        self.name_changes.push(change);
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        let found = self.names.get(name).copied();
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Storage for Simulated {
    type File = SimulatedFile;
    type Lock = ();

    fn create(&self, name: &str) -> io::Result<SimulatedFile> {
        let mut disk = self.disk();
        disk.call(true, false)?;
        let name = self.path(name);
        if disk.names.contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = disk.inodes.len();
        disk.inodes.push(Inode::default());
        disk.change_names(NameChange::Insert(name, inode));
        let disk = self.clone();
        Ok(SimulatedFile { disk, inode })
    }

    fn open(&self, name: &str, _: Access) -> io::Result<SimulatedFile> {
        let inode = self.disk().find(&self.path(name))?;
        let disk = self.clone();
        Ok(SimulatedFile { disk, inode })
    }

    fn open_base(&self, _base: &generations::Base) -> io::Result<SimulatedFile> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.call(true, false)?;
        let (from, to) = (self.path(from), self.path(to));
        let inode = disk.find(&from)?;
        disk.change_names(NameChange::Rename(from, to, inode));
        Ok(())
    }

    fn link(&self, source: &Path, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.call(true, false)?;
        let inode = disk.find(source.to_str().unwrap())?;
        disk.change_names(NameChange::Insert(self.path(name), inode));
        Ok(())
    }

    fn link_into(&self, name: &str, other: &Self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.call(true, false)?;
        let inode = disk.find(&self.path(name))?;
        let linked = other.path(name);
        if !disk.names.contains_key(&linked) {
            disk.change_names(NameChange::Insert(linked, inode));
        }
        Ok(())
    }

    fn is_same(&self, source: &Path, name: &str) -> io::Result<bool> {
        let disk = self.disk();
        let source = disk.find(source.to_str().unwrap())?;
        Ok(disk.names.get(&self.path(name)) == Some(&source))
    }

    fn unlink_source(&self, source: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        disk.call(false, false)?;
        disk.change_names(NameChange::Remove(source.to_str().unwrap().to_owned()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.call(false, false)?;
        let name = self.path(name);
        disk.find(&name)?;
        disk.change_names(NameChange::Remove(name));
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let disk = self.disk();
        let names = disk.names.keys();
        let names = names.filter_map(|name| name.strip_prefix(&self.directory));
        Ok(names
            .filter(|name| !name.contains('/'))
            .map(str::to_owned)
            .collect())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.call(false, true)?;
        let changes = std::mem::take(&mut disk.name_changes);
        for change in changes {
            let (NameChange::Insert(name, _)
            | NameChange::Rename(name, ..)
            | NameChange::Remove(name)) = &change;
            let is_here = name
                .strip_prefix(&self.directory)
                .is_some_and(|name| !name.contains('/'));
            if is_here {
                apply_name(&mut disk.durable_names, &change);
            } else {
                disk.name_changes.push(change);
            }
        }
        Ok(())
    }

    fn lock(&self, _: &str, _: Access) -> io::Result<Option<()>> {
        Ok(Some(()))
    }

    fn random(&self) -> io::Result<[u8; 16]> {
        let mut disk = self.disk();
        disk.drawn += 1;
        Ok(u128::from(disk.drawn).to_be_bytes())
    }
}

impl StorageFile for SimulatedFile {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let disk = self.disk.disk();
        fstree::ReadAt::read_exact_at(&disk.inodes[self.inode].content, buf, offset_bytes)
    }

    fn write_all_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        let mut disk = self.disk.disk();
        let called = disk.call(true, false);
        let is_full = called
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::StorageFull);
        let written = match (&called, is_full) {
            (Ok(()), _) => bytes,
            (Err(_), true) => &bytes[..bytes.len() / 1024 * SECTOR_LENGTH],
            (Err(_), false) => return called,
        };
        let offset = usize::try_from(offset_bytes).unwrap();
        let inode = &mut disk.inodes[self.inode];
        write(&mut inode.content, offset, written);
        inode
            .changes
            .push(FileChange::Write(offset, written.to_vec()));
        called
    }

    fn size_bytes(&self) -> io::Result<u64> {
        let disk = self.disk.disk();
        Ok(u64::try_from(disk.inodes[self.inode].content.len()).unwrap())
    }

    fn set_size(&self, size_bytes: u64) -> io::Result<()> {
        let mut disk = self.disk.disk();
        disk.call(true, false)?;
        let size = usize::try_from(size_bytes).unwrap();
        let inode = &mut disk.inodes[self.inode];
        inode.content.resize(size, 0);
        inode.changes.push(FileChange::Size(size));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut disk = self.disk.disk();
        let synced = disk.call(false, true);
        let inode = &mut disk.inodes[self.inode];
        // The changes of a failed sync are forgotten: they stay to be read, and are never written.
        if synced.is_ok() {
            for change in &inode.changes {
                match change {
                    FileChange::Size(size) => inode.durable.resize(*size, 0),
                    FileChange::Write(offset, bytes) => write(&mut inode.durable, *offset, bytes),
                }
            }
        }
        inode.changes.clear();
        synced
    }

    fn punch(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let mut disk = self.disk.disk();
        disk.call(false, false)?;
        let offset = usize::try_from(offset_bytes).unwrap();
        let zeros = vec![0; usize::try_from(length_bytes).unwrap()];
        let inode = &mut disk.inodes[self.inode];
        write(&mut inode.content, offset, &zeros);
        inode.changes.push(FileChange::Write(offset, zeros));
        Ok(())
    }

    fn next_data(&self, offset_bytes: u64) -> io::Result<u64> {
        let disk = self.disk.disk();
        let content = &disk.inodes[self.inode].content;
        let start = usize::try_from(offset_bytes).unwrap().min(content.len());
        // As a filesystem with blocks of 4 KiB reports it.
        let mut blocks = (start / 4096..).map(|block| block * 4096);
        let data = blocks.find(|block| {
            let end = (block + 4096).min(content.len());
            *block >= content.len() || content[*block..end].iter().any(|byte| *byte != 0)
        });
        Ok(u64::try_from(data.unwrap().clamp(start, content.len())).unwrap())
    }
}
