//! Attacks on a built msb that fail, as `SECURITY.md` promises.
//!
//! Each part sets up its target, and records every attempt in the [`Tally`]: a line with the
//! attempt and a figure, or with the attack that succeeded. To add a part, add a line to [`PARTS`].

mod agent;
mod images;
pub mod network;
mod tally;
mod users;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use test_support::harness::{self, Trial};
use test_support::{TestEnv, settings};

pub(crate) use agent::supervise;
use tally::Tally;
pub(crate) use users::intrude;

/// The duration of attacks without an end of their own, in minutes.
const MINUTES: &str = "MSB_TEST_MINUTES";

/// A part's attacks. An error is a failure of the setup, not of the target.
type Attacks = fn(&Setting, &mut Tally) -> Result<()>;

/// The environment that a part needs.
type Prepare = fn(&str) -> Result<TestEnv>;

/// Each part with the name of its test.
const PARTS: &[(&str, Prepare, Attacks)] = &[
    // Attacks of hostile images, and of a guest's data on its disk.
    ("boot_images", TestEnv::with_guests_alone, images::attack),
    // Attacks of a guest on the commands that read its disk; starts no machine.
    ("disks", TestEnv::with_guests_alone, images::attack_disks),
    // Attacks of a guest and of peers on the process of a network; needs no machine.
    ("network", TestEnv::new, network::attack),
    // Attacks of a guest's agent on the supervisor of its machine; needs no machine.
    ("agent", TestEnv::new, agent::attack),
    // Attacks of another user of the host; needs root, to become that user.
    ("boot_users", TestEnv::with_open_home, users::attack),
];

/// The target of the attacks, and their end.
struct Setting<'a> {
    env: &'a TestEnv,
    /// The time at which attacks without an end of their own stop.
    until: Instant,
}

/// Returns a test for each part.
pub(crate) fn tests() -> Vec<Trial> {
    let test = |&(name, prepare, attack): &(&'static str, Prepare, Attacks)| {
        harness::test(format!("attacks::{name}"), move || {
            run(&prepare(&format!("attacks-{name}"))?, attack)
        })
    };
    PARTS.iter().map(test).collect()
}

/// Makes the attacks, prints a line for each, and fails if one succeeds.
fn run(env: &TestEnv, attack: Attacks) -> Result<String> {
    let minutes = settings::parsed(MINUTES)?.unwrap_or(0);
    let setting = Setting {
        env,
        until: Instant::now() + Duration::from_secs(60 * u64::from(u32::min(minutes, 10_000))),
    };
    let mut tally = Tally::default();
    attack(&setting, &mut tally)?;
    let summary = tally.summary();
    if tally.failed > 0 || tally.passed == 0 {
        bail!("{summary}");
    }
    env.remove_work()?;
    Ok(summary)
}
