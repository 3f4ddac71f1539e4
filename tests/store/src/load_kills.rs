use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use test_support::listing::{difference, list};
use test_support::{Msb, TestEnv};

const NAME: &str = "oracle.test/image:latest";

/// Kills `msb load` at `kills` random moments; after each, another load gives an undisturbed store.
pub(crate) fn kill_loads(env: &TestEnv, kills: u32) -> Result<String> {
    let layout = &env.small_image()?;
    let msb = env.msb_at("killed")?;
    let begun = Instant::now();
    msb.load(layout, NAME)?;
    // Other work on the machine makes loads slower and faster: the moments follow their duration.
    let mut duration = begun.elapsed();
    let undisturbed = list(&msb.home)?;
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos();
    let mut random = u64::from(seed) | 1;
    eprintln!("kill loop: a load takes {duration:?}, seed {seed}");
    let mut in_time = 0;
    for kill in 0..kills {
        fs::remove_dir_all(&msb.home)?;
        let delay = duration.mul_f64(fraction(&mut random) * 1.1);
        if kill_one(&msb, layout, delay)? {
            in_time += 1;
            duration = duration.mul_f64(1.02);
        } else {
            duration = delay.min(duration);
        }
        msb.load(layout, NAME)
            .with_context(|| format!("after kill {kill} at {delay:?}"))?;
        let listing = list(&msb.home)?;
        ensure!(
            listing == undisturbed,
            "after kill {kill} at {delay:?}: {}",
            difference(&undisturbed, &listing)
        );
    }
    fs::remove_dir_all(&msb.home)?;
    ensure!(
        in_time > kills / 2,
        "only {in_time} kills came in time to prove anything"
    );
    Ok(format!(
        "{kills} kills, {in_time} before the load had ended"
    ))
}

/// Returns true if the kill came before the load had ended.
fn kill_one(msb: &Msb, layout: &Path, delay: Duration) -> Result<bool> {
    let mut child = msb
        .command(&["load", "-q", "-t", NAME])
        .arg(layout)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    std::thread::sleep(delay);
    let in_time = child.try_wait()?.is_none();
    child.kill()?;
    child.wait()?;
    Ok(in_time)
}

/// Returns a number from 0 to 1 (xorshift64*).
fn fraction(state: &mut u64) -> f64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let bits = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40;
    f64::from(u32::try_from(bits).unwrap_or(0)) / f64::from(1_u32 << 24)
}
