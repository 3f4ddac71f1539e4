//! Fourteen workloads that read, write and look up. They write in the place's directory.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};

use anyhow::Result;
use vm_memory::{Bytes as _, FileOffset, MmapRegion, VolatileMemory as _};

use super::files::{THREADS, at_once, fill, read_each, scan, write};
use super::metadata::{metadata_scan, read_all_py};
use super::{Act, Job, Workload};
use crate::random::Random;

const MIB: usize = 1 << 20;
const SMALL_BYTES: usize = 4 << 10;
const MIDDLE_BYTES: usize = 64 << 10;
/// The number of files in each directory of the deep tree, and their size.
const DEEP_FILES: usize = 5;
const DEEP_BYTES: usize = 512;

pub(super) static WORKLOADS: [Workload; 14] = [
    Workload::new("metadata_scan_stdlib", metadata_scan),
    Workload::new("read_all_py_stdlib", read_all_py),
    Workload::writing("deep_tree_traverse", deep_tree_traverse),
    Workload::new("random_read_stdlib", random_read),
    Workload::writing("small_file_create_1k", small_file_create),
    Workload::writing("mid_file_create_100", mid_file_create),
    Workload::writing("seq_write_fsync_16m", seq_write_fsync),
    Workload {
        // This is about memory, whatever the place. Outside tmpfs it would repeat
        // `seq_write_fsync_16m`.
        fits: |fixture| fixture.tmpfs,
        ..Workload::writing("shm_write_fsync_16m", seq_write_fsync)
    },
    Workload::writing("seq_read_16m", seq_read),
    Workload::writing("mmap_read_16m", mmap_read),
    Workload::writing("file_delete_1k", file_delete),
    Workload::writing("rename_1k", rename),
    Workload::writing("mixed_read_write", mixed_read_write),
    Workload::new("concurrent_read_4t", concurrent_read),
];

fn deep_tree_traverse<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let root = job.fixture.kept("deep");
    if !root.exists() {
        let mut level = vec![root.clone()];
        for depth in 0..=job.sizes.depth {
            let mut next = Vec::new();
            for directory in &level {
                fs::create_dir(directory)?;
                for number in 0..DEEP_FILES {
                    write(
                        &directory.join(format!("file-{number}")),
                        &[b'd'; DEEP_BYTES],
                    )?;
                }
                let below = (0..job.sizes.width).map(|number| directory.join(number.to_string()));
                next.extend(below.take_while(|_| depth < job.sizes.depth));
            }
            level = next;
        }
    }
    Ok(Box::new(move |samples| {
        scan(&root, samples);
        Ok(())
    }))
}

fn random_read<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let files = Random::named("random_read").shuffled(job.fixture.listing.files.clone());
    Ok(Box::new(move |samples| {
        read_each(files.iter().take(job.sizes.picked), samples);
        Ok(())
    }))
}

fn small_file_create<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let bytes = Random::named("small_file_create").bytes(SMALL_BYTES);
    Ok(Box::new(move |samples| {
        for number in 0..job.sizes.many {
            samples.operation(|| write(&job.fixture.made(number), &bytes));
        }
        for number in 0..job.sizes.many {
            samples.operation(|| fs::remove_file(job.fixture.made(number)));
        }
        Ok(())
    }))
}

fn mid_file_create<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let bytes = Random::named("mid_file_create").bytes(MIDDLE_BYTES);
    Ok(Box::new(move |samples| {
        for number in 0..job.sizes.middle {
            samples.operation(|| write(&job.fixture.made(number), &bytes));
        }
        Ok(())
    }))
}

fn seq_write_fsync<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let bytes = Random::named("seq_write").bytes(MIB);
    Ok(Box::new(move |samples| {
        let mut file = File::create(job.fixture.made("stream"))?;
        for _ in 0..job.sizes.stream_mib {
            samples.operation(|| file.write_all(&bytes));
        }
        samples.operation(|| file.sync_all());
        Ok(())
    }))
}

fn seq_read<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let path = job.fixture.kept("stream");
    let mut buffer = Random::named("seq_read").bytes(MIB);
    fill(&path, job.sizes.stream_mib, &buffer)?;
    Ok(Box::new(move |samples| {
        let mut file = File::open(path)?;
        for _ in 0..job.sizes.stream_mib {
            samples.operation(|| file.read_exact(&mut buffer));
        }
        Ok(())
    }))
}

/// Reads page after page through a shared mapping.
fn mmap_read<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let path = job.fixture.kept("mapped");
    fill(
        &path,
        job.sizes.stream_mib,
        &Random::named("mmap_read").bytes(MIB),
    )?;
    Ok(Box::new(move |samples| {
        let file = File::options().read(true).write(true).open(path)?;
        let size_bytes = usize::try_from(file.metadata()?.len())?;
        let region = MmapRegion::<()>::from_file(FileOffset::new(file, 0), size_bytes)?;
        let mapped = region.as_volatile_slice();
        let mut page = [0; SMALL_BYTES];
        for offset in (0..size_bytes).step_by(SMALL_BYTES) {
            samples.operation(|| mapped.read_slice(&mut page, offset));
        }
        Ok(())
    }))
}

fn file_delete<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    make_small_files(job)?;
    Ok(Box::new(|samples| {
        for number in 0..job.sizes.many {
            samples.operation(|| fs::remove_file(job.fixture.made(number)));
        }
        Ok(())
    }))
}

fn rename<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    make_small_files(job)?;
    Ok(Box::new(|samples| {
        for number in 0..job.sizes.many {
            let (from, to) = (
                job.fixture.made(number),
                job.fixture.made(format_args!("{number}-renamed")),
            );
            samples.operation(|| fs::rename(from, to));
        }
        Ok(())
    }))
}

fn make_small_files(job: &Job<'_>) -> Result<()> {
    for number in 0..job.sizes.many {
        write(&job.fixture.made(number), &[b's'; SMALL_BYTES])?;
    }
    Ok(())
}

/// Reads a library file and writes a file of at most 4 KiB, in turn.
fn mixed_read_write<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let mut random = Random::named("mixed_read_write");
    let bytes = random.bytes(SMALL_BYTES);
    let steps: Vec<_> = (0..job.sizes.mixed)
        .filter_map(|_| {
            let read = job
                .fixture
                .python
                .get(random.below(job.fixture.python.len()))?;
            Some((read, 1 + random.below(SMALL_BYTES)))
        })
        .collect();
    Ok(Box::new(move |samples| {
        for (number, (source, size_bytes)) in steps.into_iter().enumerate() {
            read_each([source], samples);
            samples.operation(|| write(&job.fixture.made(number), &bytes[..size_bytes]));
        }
        Ok(())
    }))
}

fn concurrent_read<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    Ok(Box::new(|samples| {
        at_once(samples, |number, samples| {
            read_each(
                job.fixture.python.iter().skip(number).step_by(THREADS),
                samples,
            );
        })
    }))
}
