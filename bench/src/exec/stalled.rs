use std::io::Read as _;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::running::Running;
use super::{conditions, memory};
use crate::report::{Cell, Plot, Row, Table, Target, Unit};

/// The largest growth of any process of msb while the reader stalls, in KiB.
const GROWTH_MAX_KIB: u64 = 16 << 10;
/// The largest amount that the guest may have written and the reader has not read, in MiB.
const AHEAD_MAX_MIB: u64 = 16;

/// Measures a command that writes without end, to a reader that stops reading.
pub(super) fn measure(sandbox: &Running, stall_s: u64) -> Result<(Table, Vec<Target>)> {
    const WRITER: &str = "i=0; while :; do dd if=/dev/zero bs=1M count=1 status=none; \
        i=$((i+1)); echo $i > /tmp/written; done";
    let mut child = sandbox.shell(WRITER).spawn()?;
    let mut stdout = child.stdout.take().context("stdout is piped")?;
    let mut megabyte = vec![0; 1 << 20];
    stdout.read_exact(&mut megabyte)?;
    let before = memory::of_machine(sandbox)?;
    let client_before_kib = memory::of_process(child.id());
    let (early, late) = (
        Duration::from_secs(stall_s / 2),
        Duration::from_secs(stall_s.div_ceil(2)),
    );
    sleep(early);
    let half_mib = written_mib(sandbox)?;
    sleep(late);
    let whole_mib = written_mib(sandbox)?;
    let machine_kib = memory::growth(&before, &memory::of_machine(sandbox)?);
    let client_kib = memory::of_process(child.id()).saturating_sub(client_before_kib);
    // The command continues as soon as its output is read.
    for _ in 0..whole_mib + 4 {
        stdout.read_exact(&mut megabyte)?;
    }
    child.kill()?;
    child.wait()?;
    let most_kib = machine_kib.max(client_kib);
    let mib = |mib: u64| Some(Cell::once((mib << 20) as f64));
    let table = Table {
        title: format!("A reader that stalls for {stall_s} s"),
        conditions: conditions("1 MiB was read before".to_owned()),
        unit: Unit::Bytes,
        columns: vec!["written in the guest".to_owned()],
        baseline: None,
        rows: vec![
            Row::new("half-way", vec![mib(half_mib)]),
            Row::new("at the end", vec![mib(whole_mib)]),
        ],
        plot: Plot::None,
    };
    let targets = vec![
        Target::new(
            half_mib == whole_mib && whole_mib <= AHEAD_MAX_MIB,
            format!(
                "the writer stopped at {half_mib} MiB (at most {AHEAD_MAX_MIB}), and wrote on when read"
            ),
        ),
        Target::new(
            most_kib <= GROWTH_MAX_KIB,
            format!(
                "a stalled reader: msb's processes grew by {most_kib} KiB (at most {GROWTH_MAX_KIB})"
            ),
        ),
    ];
    Ok((table, targets))
}

fn written_mib(sandbox: &Running) -> Result<u64> {
    let text = sandbox.output("cat /tmp/written 2>/dev/null || echo 0")?;
    Ok(text.trim().parse()?)
}
