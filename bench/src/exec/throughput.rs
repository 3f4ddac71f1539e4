use std::io::Read as _;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use super::running::Running;
use super::{conditions, memory};
use crate::report::{Plot, Row, Table, Target, Unit};
use crate::timing;

/// The rate that always meets the target.
const ENOUGH_MIB_PER_S: f64 = 100.0;
/// The share of the console's rate that also meets the target.
const SHARE: f64 = 0.5;
/// The largest growth of the machine's own processes meanwhile, in KiB.
const GROWTH_MAX_KIB: u64 = 32 << 10;

/// Measures the same bytes through exec's stdout and through the console, in turn.
pub(super) fn measure(
    sandbox: &Running,
    output_mib: u32,
    runs: usize,
) -> Result<(Table, Vec<Target>)> {
    let exec = format!(
        "dd if=/dev/zero bs=64k count={} status=none",
        output_mib * 16
    );
    let console = format!("{exec} of=/dev/hvc0");
    sandbox.output(&exec)?;
    let before = memory::of_machine(sandbox)?;
    ensure!(!before.is_empty(), "cannot find the machine's processes");
    let pairs = timing::alternate(
        runs,
        || through_exec(sandbox, &exec, output_mib),
        || sandbox.output(&console).map(drop),
    )?;
    let growth_kib = memory::growth(&before, &memory::of_machine(sandbox)?);
    let ratio = pairs.a.ratio_to(&pairs.b).context("nothing was measured")?;
    let time_s = pairs.a.spread().context("nothing was measured")?.median;
    let mib_per_s = f64::from(output_mib) / time_s;
    let share = 1.0 / ratio.median;
    let table = Table {
        title: format!("{output_mib} MiB of zeros from the guest"),
        conditions: conditions(format!(
            "{runs} runs after one warm-up, in turn; the start of the command included"
        )),
        unit: Unit::Seconds,
        columns: vec!["the console".to_owned(), "msb exec".to_owned()],
        baseline: Some(0),
        rows: vec![Row::new("output", vec![Some(pairs.b), Some(pairs.a)])],
        plot: Plot::Ratios,
    };
    let targets = vec![
        Target::new(
            mib_per_s >= ENOUGH_MIB_PER_S || share >= SHARE,
            format!("{mib_per_s:.1} MiB/s, {share:.2} of the console's (100 MiB/s, or 0.5)"),
        ),
        Target::new(
            growth_kib <= GROWTH_MAX_KIB,
            format!("output: msb's processes grew by {growth_kib} KiB (at most {GROWTH_MAX_KIB})"),
        ),
    ];
    Ok((table, targets))
}

fn through_exec(sandbox: &Running, line: &str, output_mib: u32) -> Result<()> {
    let mut child = sandbox.shell(line).stdin(Stdio::null()).spawn()?;
    let mut stdout = child.stdout.take().context("stdout is piped")?;
    let mut buffer = vec![0; 1 << 16];
    let mut total_bytes = 0;
    loop {
        let count = stdout.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        total_bytes += count as u64;
    }
    ensure!(child.wait()?.success(), "msb exec failed");
    ensure!(
        total_bytes == u64::from(output_mib) << 20,
        "{total_bytes} bytes arrived"
    );
    Ok(())
}
