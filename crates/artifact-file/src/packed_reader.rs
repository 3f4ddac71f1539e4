use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fstree::ReadAt;
use packed_file::{GROUP_BYTES, PackedFile};

/// The most groups that are kept in memory, 512 KiB: small reads follow each other in a few places of a layer.
const GROUPS_MAX: usize = 8;

/// A packed file that is read without a cache file. The groups of small reads are kept for the next ones.
#[derive(Debug)]
pub struct PackedReader {
    packed: PackedFile<File>,
    /// The groups that were used last with their numbers, the newest at the end.
    kept: Mutex<Vec<(u64, Arc<Vec<u8>>)>>,
}

impl PackedReader {
    pub(crate) fn new(packed: PackedFile<File>) -> Self {
        Self {
            packed,
            kept: Mutex::default(),
        }
    }

    /// Returns the length of a group, in bytes; 0 behind the last one.
    fn group_length(&self, number: u64) -> usize {
        let start_bytes = number.saturating_mul(wide(GROUP_BYTES));
        let left_bytes = self.packed.plain_bytes().saturating_sub(start_bytes);
        narrow(left_bytes.min(wide(GROUP_BYTES)))
    }

    /// Returns a group, from memory if it was used a moment ago.
    fn group(&self, number: u64) -> io::Result<Arc<Vec<u8>>> {
        let mut kept = self.kept();
        if let Some(index) = kept.iter().position(|(kept, _)| *kept == number) {
            let used = kept.remove(index);
            let group = Arc::clone(&used.1);
            kept.push(used);
            return Ok(group);
        }
        drop(kept);
        let mut group = vec![0; self.group_length(number)];
        self.packed.read(&mut group, number * wide(GROUP_BYTES))?;
        let group = Arc::new(group);
        let mut kept = self.kept();
        if kept.len() >= GROUPS_MAX {
            kept.remove(0);
        }
        kept.push((number, Arc::clone(&group)));
        Ok(group)
    }

    fn kept(&self) -> MutexGuard<'_, Vec<(u64, Arc<Vec<u8>>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadAt for PackedReader {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let end_bytes = offset_bytes.checked_add(wide(buf.len()));
        if end_bytes.is_none_or(|end_bytes| end_bytes > self.packed.plain_bytes()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (mut rest, mut at_bytes) = (buf, offset_bytes);
        while !rest.is_empty() {
            let number = at_bytes / wide(GROUP_BYTES);
            let within = narrow(at_bytes % wide(GROUP_BYTES));
            let length = self.group_length(number);
            let (piece, after) = rest.split_at_mut(rest.len().min(length - within));
            if piece.len() == length {
                self.packed.read(piece, at_bytes)?;
            } else {
                let group = self.group(number)?;
                let wanted = group.get(within..).and_then(|from| from.get(..piece.len()));
                piece.copy_from_slice(wanted.expect("the piece is in its group"));
            }
            at_bytes += wide(piece.len());
            rest = after;
        }
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.packed.plain_bytes())
    }
}

/// Returns a length in memory as one of a file.
fn wide(length: usize) -> u64 {
    u64::try_from(length).expect("memory is shorter than 2^64 bytes")
}

/// Returns a number that is bounded by a length in memory.
fn narrow(bounded: u64) -> usize {
    usize::try_from(bounded).expect("the caller has bounded the number")
}
