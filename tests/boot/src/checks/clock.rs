//! The guest's clock, beside the host's.

use std::process::Output;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use test_support::{TestEnv, describe, expect_code};

use super::durability::remove;

const CLOCK: &str = "checks-clock";
/// The time within which a clock has to be right at the next call.
const RIGHT_WITHIN: Duration = Duration::from_secs(5);

/// Prints when the clock has gone backwards, and the largest difference of two readings, in milliseconds.
const WATCH: &str = "
import time
time.clock_settime_ns(time.CLOCK_REALTIME, time.time_ns() + 600_000_000)
last, back = time.time_ns(), 0
print('set', flush=True)
end = time.monotonic() + 8
while time.monotonic() < end:
    now = time.time_ns()
    back = max(back, last - now)
    last = now
    time.sleep(0.01)
print(back // 1000000)
";

/// Checks that the guest's clock is right at the first call after it was wrong, and never goes back a little.
pub(super) fn followed(env: &TestEnv) -> Result<()> {
    let start = || {
        let _ = remove(env, CLOCK);
        env.run_command(&["-d", "--name", CLOCK], &["sleep", "1000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    is_right(env)?;
    for change in ["-1 hour", "+1 hour", "-2 seconds"] {
        let set = exec(env, &["date", "-s", change])?;
        expect_code(&set, 0)?;
        // The last comparison is no longer fresh.
        std::thread::sleep(Duration::from_secs(3));
        is_right(env).with_context(|| format!("after {change}"))?;
    }
    let watched = std::thread::scope(|scope| {
        let watching = scope.spawn(|| exec(env, &["python3", "-c", WATCH]));
        // Calls compare the clocks meanwhile.
        for _ in 0..4 {
            std::thread::sleep(Duration::from_secs(3));
            let _ = exec(env, &["true"]);
        }
        watching.join().expect("no panic")
    })?;
    ensure!(watched.stdout == b"set\n0\n", "{}", describe(&watched));
    expect_code(&env.msb().args(["stop", "-t", "0", CLOCK]).output()?, 0)?;
    remove(env, CLOCK)
}

/// Checks the guest's time against that before and after the call.
fn is_right(env: &TestEnv) -> Result<()> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH);
    let before = now()?;
    let output = exec(env, &["date", "+%s.%N"])?;
    expect_code(&output, 0)?;
    let guest: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    let guest = Duration::from_secs_f64(guest);
    let is_in_time = guest + RIGHT_WITHIN >= before && guest <= now()? + RIGHT_WITHIN;
    ensure!(is_in_time, "the guest has {guest:?}, the host {before:?}");
    Ok(())
}

fn exec(env: &TestEnv, words: &[&str]) -> Result<Output> {
    let mut line = env.msb();
    line.args(["exec", CLOCK]).args(words);
    Ok(line.output()?)
}
