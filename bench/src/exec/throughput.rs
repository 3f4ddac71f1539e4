use std::io::Read as _;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use super::sandbox::Sandbox;
use super::{memory, target};
use crate::timing;

/// Enough, whatever the console does.
const ENOUGH_MIB_PER_S: f64 = 100.0;
/// Or this share of what the console does.
const SHARE: f64 = 0.5;
/// What the machine's own processes may grow by meanwhile, in KiB.
const GROWTH_MAX_KIB: u64 = 32 << 10;

/// The same bytes through exec's stdout and through the console, in turn.
#[expect(clippy::print_stdout, reason = "the figures are this program's output")]
pub(super) fn measure(sandbox: &Sandbox, output_mib: u32, runs: usize) -> Result<bool> {
    let exec = format!(
        "dd if=/dev/zero bs=64k count={} status=none",
        output_mib * 16
    );
    let console = format!("{exec} of=/dev/hvc0");
    sandbox.output(&exec)?;
    let before = memory::of_machine(&sandbox.directory)?;
    ensure!(!before.is_empty(), "the machine's processes are not found");
    let pairs = timing::alternate(
        runs,
        || through_exec(sandbox, &exec, output_mib),
        || sandbox.output(&console).map(drop),
    )?;
    let growth_kib = memory::growth(&before, &memory::of_machine(&sandbox.directory)?);
    println!("{output_mib} MiB of zeros, the start of the command included");
    println!("{}", pairs.shown("msb exec", "console"));
    let times = pairs.median_a().context("no runs")?;
    let mib_per_s = f64::from(output_mib) / times.as_secs_f64();
    let share = 1.0 / pairs.median_ratio().context("no runs")?;
    let fast = target(
        mib_per_s >= ENOUGH_MIB_PER_S || share >= SHARE,
        &format!("{mib_per_s:.1} MiB/s, {share:.2} of the console's (100 MiB/s, or 0.5)"),
    );
    let small = target(
        growth_kib <= GROWTH_MAX_KIB,
        &format!("msb's processes grew by {growth_kib} KiB (at most {GROWTH_MAX_KIB})"),
    );
    Ok(fast && small)
}

fn through_exec(sandbox: &Sandbox, line: &str, output_mib: u32) -> Result<()> {
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
        "{total_bytes} bytes came"
    );
    Ok(())
}
