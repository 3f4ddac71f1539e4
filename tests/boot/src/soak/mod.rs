//! Soak tests: sandboxes killed at random moments, run by the thousand, many at once.

mod crashes;
mod crowd;
mod cycles;

use std::process::Output;

use anyhow::{Result, ensure};
use test_support::harness::{self, Trial};
use test_support::{TestEnv, settings};

/// Number of repetitions by default.
const TIMES: u32 = 20;

/// Returns the tests, which take long and run only on request. `MSB_TEST_COUNT` sets the number of
/// repetitions.
pub(crate) fn tests() -> Vec<Trial> {
    let test = |name: &'static str, run: fn(&TestEnv, u32) -> Result<String>| {
        harness::long_test(format!("soak::boot_{name}"), move || {
            let env = TestEnv::with_guests_alone(name)?;
            let found = run(&env, settings::count(TIMES)?)?;
            env.remove_work()?;
            Ok(found)
        })
    };
    vec![
        test("crashes", crashes::run),
        test("cycles", cycles::run),
        test("crowd", crowd::run),
    ]
}

/// Runs msb, which must succeed.
fn done(env: &TestEnv, arguments: &[&str]) -> Result<Output> {
    let output = env.msb().args(arguments).output()?;
    ensure!(
        output.status.success(),
        "msb {} gave {}: {}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output)
}
