//! One large file with requests of 4 KiB, each of its blocks once. The file exists before, so that
//! no request extends it.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use anyhow::Result;

use super::files::fill;
use super::{Act, Job, Workload};
use crate::random::Random;

const REQUEST_BYTES: usize = 4 << 10;
const MIB: u64 = 1 << 20;

pub(super) static WORKLOADS: [Workload; 6] = [
    Workload::writing("write_in_order", |job| writing(job, Order::Rising, false)),
    Workload::writing("write_in_order_fsync", |job| {
        writing(job, Order::Rising, true)
    }),
    Workload::writing("write_at_random", |job| writing(job, Order::Random, false)),
    Workload::writing("write_at_random_fsync", |job| {
        writing(job, Order::Random, true)
    }),
    Workload::writing("read_in_order", |job| reading(job, Order::Rising)),
    Workload::writing("read_at_random", |job| reading(job, Order::Random)),
];

#[derive(Clone, Copy)]
enum Order {
    Rising,
    Random,
}

/// Writes every block. With `sync`, one `fsync` at the end is part of the workload.
fn writing<'a>(job: &'a Job<'a>, order: Order, sync: bool) -> Result<Act<'a>> {
    let file = opened(job)?;
    let offsets = offsets(job, order);
    let bytes = Random::named("single_file").bytes(REQUEST_BYTES);
    Ok(Box::new(move |samples| {
        for offset in offsets {
            samples.operation(|| file.write_all_at(&bytes, offset));
        }
        if sync {
            samples.operation(|| file.sync_all());
        }
        Ok(())
    }))
}

fn reading<'a>(job: &'a Job<'a>, order: Order) -> Result<Act<'a>> {
    let file = opened(job)?;
    let offsets = offsets(job, order);
    let mut buffer = vec![0; REQUEST_BYTES];
    Ok(Box::new(move |samples| {
        for offset in offsets {
            samples.operation(|| file.read_exact_at(&mut buffer, offset));
        }
        Ok(())
    }))
}

fn opened(job: &Job<'_>) -> Result<File> {
    let path = job.fixture.kept("single-file");
    let mebibyte = Random::named("file").bytes(usize::try_from(MIB)?);
    fill(&path, job.sizes.file_mib, &mebibyte)?;
    Ok(File::options().read(true).write(true).open(path)?)
}

fn offsets(job: &Job<'_>, order: Order) -> Vec<u64> {
    let rising = (0..job.sizes.file_mib * MIB)
        .step_by(REQUEST_BYTES)
        .collect();
    match order {
        Order::Rising => rising,
        Order::Random => Random::named("offsets").shuffled(rising),
    }
}
