//! Chains of qcow2 files, which `qemu-img` makes and reads.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::Arguments;
use super::sandbox::random_bytes;
use crate::allocation::allocated_file_bytes;
use crate::msb::text;
use crate::report::Cell;

/// Reads of a round.
const READS: u32 = 2_000;
/// The distance of two reads, in bytes: a prime number of blocks, so that they come to all.
const STEP_BYTES: u64 = 7_919 * 4096;

/// Figures of chains with 1 file and with `--depth` files over a raw one.
pub(super) struct Chains {
    /// Mean times of reads, in seconds.
    pub(super) reads: [Cell; 2],
    /// The space of a file that has the changed blocks.
    pub(super) bytes_each: [f64; 2],
}

/// Measures chains, in each file of which as many blocks are changed. `None` without QEMU's programs.
pub(super) fn measure(
    arguments: &Arguments,
    work: &Path,
    changed: usize,
) -> Result<Option<Chains>> {
    if !is_installed("qemu-img") || !is_installed("qemu-io") {
        return Ok(None);
    }
    let raw = work.join("chain.raw");
    std::fs::write(&raw, random_bytes(arguments.mib))?;
    let mut tops = Vec::new();
    let mut bytes_each = [0.0; 2];
    for (column, depth) in [1, arguments.depth].into_iter().enumerate() {
        let mut below = (raw.clone(), "raw");
        let mut bytes = 0;
        for file in 0..depth {
            let top = work.join(format!("chain-{depth}-{file}.qcow2"));
            let mut create = Command::new("qemu-img");
            create.args(["create", "-q", "-f", "qcow2", "-F", below.1, "-b"]);
            text(create.arg(&below.0).arg(&top))?;
            let mut write = Command::new("qemu-io");
            write.args(["-f", "qcow2"]);
            let blocks = u64::from(arguments.mib) << 8;
            for number in 0..changed as u64 {
                let block = (u64::from(file) * 31 + number * 7_919) % blocks;
                write.args(["-c", &format!("write -q {} 4096", block * 4096)]);
            }
            text(write.arg(&top))?;
            bytes += allocated_file_bytes(&top)?;
            below = (top, "qcow2");
        }
        bytes_each[column] = bytes as f64 / f64::from(depth);
        tops.push(below.0);
    }
    let mut reads = [const { Vec::new() }; 2];
    for round in 0..=arguments.rounds {
        for (top, reads) in tops.iter().zip(&mut reads) {
            let read_s = mean_read_s(top)?;
            if round > 0 {
                reads.push(read_s);
            }
        }
    }
    Ok(Some(Chains {
        reads: reads.map(Cell::from_rounds),
        bytes_each,
    }))
}

/// Returns the mean time of a read of 4 KiB, as `qemu-img bench` tells it.
fn mean_read_s(file: &Path) -> Result<f64> {
    let mut bench = Command::new("qemu-img");
    bench.args(["bench", "-f", "qcow2", "-d", "1", "-s", "4096"]);
    bench.args(["-c", &READS.to_string(), "-S", &STEP_BYTES.to_string()]);
    let told = text(bench.arg(file))?;
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("Run completed in "));
    let seconds = line.and_then(|line| line.split(' ').next());
    let seconds: f64 = seconds
        .and_then(|word| word.parse().ok())
        .context("qemu-img bench tells no time")?;
    Ok(seconds / f64::from(READS))
}

/// Returns true if a program can be run.
fn is_installed(program: &str) -> bool {
    let mut version = Command::new(program);
    version
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}
