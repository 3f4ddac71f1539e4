//! Reads into several buffers, as the pages of a guest are.

use std::io::IoSliceMut;

use crate::block::{BLOCK_BYTES, Run, blocks_of, in_memory, length_of};
use crate::error::{ReadError, StorageError};
use crate::storage::StorageFile;
use crate::view::{Data, View};

impl<F: StorageFile> View<F> {
    /// Fills buffers, one after the other, with the bytes from `offset_bytes` on.
    pub(crate) fn read_vectored(
        &self,
        mut buffers: &mut [IoSliceMut<'_>],
        offset_bytes: u64,
    ) -> Result<(), ReadError> {
        let length_bytes = length_of_all(buffers);
        self.check(offset_bytes, length_bytes)?;
        let end_bytes = offset_bytes + length_bytes;
        let blocks = Run::from_bounds(offset_bytes / BLOCK_BYTES, blocks_of(end_bytes));
        let mut at = offset_bytes;
        for (run, slot) in self.map.runs(blocks) {
            let data = self.file(slot);
            let run_end = (run.end() * BLOCK_BYTES).min(end_bytes);
            while at < run_end {
                let filled_bytes = fill_first(buffers, data, at, run_end - at)?;
                IoSliceMut::advance_slices(&mut buffers, in_memory(filled_bytes));
                at += filled_bytes;
            }
        }
        Ok(())
    }
}

impl<F: StorageFile> Data<F> {
    /// Fills buffers, one after the other, with the disk's bytes from `offset_bytes` on.
    fn read_vectored(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        mut offset_bytes: u64,
    ) -> Result<(), StorageError> {
        if offset_bytes + length_of_all(buffers) <= self.end_bytes {
            let read = self.file.read_vectored_at(buffers, offset_bytes);
            return read.map_err(|error| self.error("read", error));
        }
        for buffer in buffers {
            self.read(buffer, offset_bytes)?;
            offset_bytes += length_of(buffer);
        }
        Ok(())
    }
}

/// Fills those of the first buffers that fit into the next `left_bytes` of a file, or with zeros where
/// there is none; if not even the first one fits, its part that does. Returns the number of bytes.
fn fill_first<F: StorageFile>(
    buffers: &mut [IoSliceMut<'_>],
    data: Option<&Data<F>>,
    at: u64,
    left_bytes: u64,
) -> Result<u64, StorageError> {
    let count = fitting(buffers, left_bytes);
    if let (0, Some(first)) = (count, buffers.first_mut()) {
        let (part, _) = first.split_at_mut(in_memory(left_bytes));
        match data {
            None => part.fill(0),
            Some(data) => data.read(part, at)?,
        }
        return Ok(left_bytes);
    }
    let whole = buffers.get_mut(..count).unwrap_or_default();
    match data {
        None => whole.iter_mut().for_each(|buffer| buffer.fill(0)),
        Some(data) => data.read_vectored(whole, at)?,
    }
    Ok(length_of_all(whole))
}

/// Returns the number of the first buffers that fit together in `left_bytes`.
fn fitting(buffers: &[IoSliceMut<'_>], left_bytes: u64) -> usize {
    let mut left_bytes = Some(left_bytes);
    let lengths = buffers.iter().map(|buffer| length_of(buffer));
    lengths
        .take_while(|length| {
            left_bytes = left_bytes.and_then(|left| left.checked_sub(*length));
            left_bytes.is_some()
        })
        .count()
}

fn length_of_all(buffers: &[IoSliceMut<'_>]) -> u64 {
    let lengths = buffers.iter().map(|buffer| length_of(buffer));
    lengths.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use proptest::prelude::*;

    use super::*;
    use crate::{Disk, FileStorage, Pool};

    const SIZE_BYTES: u64 = 64 * BLOCK_BYTES + 512;

    fn new_disk() -> (tempfile::TempDir, Pool<FileStorage>, Disk<FileStorage>) {
        let directory = tempfile::tempdir().expect("a directory");
        let pool = Pool::new(FileStorage::open(directory.path()).expect("made"));
        let id = pool.new_disk_id().expect("random bytes");
        pool.create_disk(id, SIZE_BYTES).expect("made");
        let disk = pool.open_disk(id).expect("opened");
        (directory, pool, disk)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn buffers_of_any_length_get_what_one_buffer_gets(
            writes in prop::collection::vec((0_u64..64, 1_u64..9, any::<bool>()), 1..24),
            offset_bytes in 0..SIZE_BYTES,
            lengths in prop::collection::vec(
                prop_oneof![Just(4096_usize), Just(0), 1_usize..20_000],
                1..40,
            ),
        ) {
            let (_directory, _, mut disk) = new_disk();
            for (number, (first, count, is_cut)) in (1..).zip(writes) {
                let run = Run::from_bounds(first, (first + count).min(64));
                let bytes = vec![number; in_memory(run.length_bytes())];
                disk.write(&bytes, run.offset_bytes()).expect("written");
                if is_cut {
                    disk.cut().expect("cut");
                    disk.flush().expect("flushed");
                }
            }

            let mut expected = vec![0xff; in_memory(SIZE_BYTES - offset_bytes)];
            disk.read(&mut expected, offset_bytes).expect("read");
            let mut got = vec![0xff; expected.len()];
            let mut buffers = Vec::new();
            let mut rest = got.as_mut_slice();
            for length in lengths {
                let (buffer, after) = rest.split_at_mut(length.min(rest.len()));
                buffers.push(IoSliceMut::new(buffer));
                rest = after;
            }
            let is_read = in_memory(length_of_all(&buffers));
            disk.read_vectored(&mut buffers, offset_bytes).expect("read");
            prop_assert_eq!(&got[..is_read], &expected[..is_read]);
        }

        #[test]
        fn buffers_of_any_length_are_written_as_one_buffer_is(
            writes in prop::collection::vec(
                (0..SIZE_BYTES, prop::collection::vec(0_usize..9_000, 1..9), any::<bool>()),
                1..24,
            ),
        ) {
            let (_directory, pool, mut disk) = new_disk();
            let mut expected = vec![0; in_memory(SIZE_BYTES)];
            for (number, (offset_bytes, lengths, is_cut)) in (1..).zip(writes) {
                let start = in_memory(offset_bytes);
                let length = lengths.iter().sum::<usize>().min(expected.len() - start);
                let pattern = (0..=250_u8).cycle().map(|byte| byte ^ number);
                let bytes: Vec<u8> = pattern.take(length).collect();
                expected[start..start + length].copy_from_slice(&bytes);
                let mut buffers = Vec::new();
                let mut rest = bytes.as_slice();
                for length in lengths {
                    let (buffer, after) = rest.split_at(length.min(rest.len()));
                    buffers.push(IoSlice::new(buffer));
                    rest = after;
                }
                disk.write_vectored(&mut buffers, offset_bytes).expect("written");
                if is_cut {
                    disk.cut().expect("cut");
                    disk.flush().expect("flushed");
                }
            }

            let mut got = vec![0xff; expected.len()];
            disk.read(&mut got, 0).expect("read");
            prop_assert!(got == expected);
            disk.flush().expect("flushed");
            let id = disk.id();
            drop(disk);
            let again = pool.open_disk(id).expect("opened");
            again.read(&mut got, 0).expect("read");
            prop_assert!(got == expected);
        }
    }
}
