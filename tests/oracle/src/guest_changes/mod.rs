//! Random changes that are made inside a guest, and everything that msb makes of them.
//!
//! A sandbox has directories of one form, and a program changes each of them at random: see
//! [`testkit::RandomChanges`]. The guest's own view of its files is the truth. The committed image
//! has to be the same tree for umoci, the appliers of containerd and moby, the host's kernel on
//! msb's merged image and a guest that boots it; `msb apply` has to make it of a copy of the base.
//! Then the same sandbox is changed once more.

mod guest;
mod image;
mod judges;

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Result, ensure};
use fs_err as fs;
use test_fixtures::{build, tools};
use test_support::harness::{self, Trial};
use test_support::{TestEnv, settings, succeed, trees};
use testkit::RandomChanges;

use guest::Guest;
use judges::Judges;

/// Number of sequences by default.
const SEQUENCES: u64 = 40;
/// Number of directories that one boot changes, each by a sequence of its own.
const DIRECTORIES: u64 = 20;
/// Number of changes that a sequence tries.
const CHANGES: u64 = 30;
/// Number of sequences from which on every kind of change must have been made.
const ALL_KINDS_SEQUENCES: u64 = 40;

/// The image that is a child of the last one that was made of the sandbox.
const CHILD: &str = "guest-changes-child:latest";
/// The image that is a child of the sandbox's own.
const DIRECT: &str = "guest-changes-direct:latest";

/// Returns the test of committed changes.
pub(crate) fn tests() -> Vec<Trial> {
    let name = "guest_changes::what_a_guest_changed_is_in_its_image";
    vec![harness::test(name, || {
        tools::install()?;
        let env = TestEnv::with_guests("guest-changes")?;
        let first = settings::parsed(settings::FIRST)?.unwrap_or(0);
        let found = run(&env, first, settings::count(SEQUENCES)?)?;
        env.expect_nothing_left()?;
        env.remove_work()?;
        Ok(found)
    })]
}

/// The counts of a run.
#[derive(Debug, Default)]
struct Tally {
    sequences: u64,
    boots: u64,
    entries: usize,
    made: BTreeMap<String, u64>,
}

fn run(env: &TestEnv, first: u64, count: u64) -> Result<String> {
    let (program, tree_dump) = (build::change_tree()?, build::tree_dump()?);
    let msb = env.home_msb();
    let layout = env.work.join("base");
    image::write(&layout, &fs::read(program)?, DIRECTORIES);
    msb.load(&layout, image::NAME)?;
    let judges = Judges::new(env, &tree_dump)?;
    let mut tally = Tally::default();
    for start in (first..first + count).step_by(usize::try_from(2 * DIRECTORIES)?) {
        sandbox(
            env,
            &judges,
            start..(first + count).min(start + 2 * DIRECTORIES),
            &mut tally,
        )?;
    }
    judges.remove()?;
    succeed(&mut msb.command(&["rmi", image::NAME]))?;
    tally.verdict()
}

/// Changes the files of one sandbox in two boots, and judges the images that are made of it after
/// each of them.
fn sandbox(env: &TestEnv, judges: &Judges<'_>, seeds: Range<u64>, tally: &mut Tally) -> Result<()> {
    let guest = Guest::new(env);
    let mut last_seen = String::new();
    for first in seeds.clone().step_by(usize::try_from(DIRECTORIES)?) {
        let (is_first, count) = (first == seeds.start, DIRECTORIES.min(seeds.end - first));
        let input = format!("{first} {count} {CHANGES}\n");
        let (seen, made) = if is_first {
            guest.create(&input)?
        } else {
            guest.start(&input)?
        };
        let what = format!("the image of seeds {first} to {}", first + count - 1);
        judges.applied(&seen, &what)?;
        committed(&guest, judges, is_first, &seen, &what)?;
        for (kind, number) in made {
            *tally.made.entry(kind).or_default() += number;
        }
        tally.sequences += count;
        tally.boots += 1;
        tally.entries += seen.lines().count();
        last_seen = seen;
    }
    let booted = guest.run(DIRECT)?;
    trees::compare("the guest", &last_seen, "a guest of the image", &booted)?;
    tally.boots += 1;
    guest.remove(&[DIRECT])
}

/// Judges a child of the last image that was made of the sandbox, and a child of its own image.
fn committed(
    guest: &Guest<'_>,
    judges: &Judges<'_>,
    is_first: bool,
    seen: &str,
    what: &str,
) -> Result<()> {
    let child = guest.commit(CHILD)?;
    judges.image(CHILD, seen, what)?;
    let earlier: &[&str] = if is_first { &[] } else { &[DIRECT] };
    guest.remove_images(&[&[CHILD], earlier].concat())?;
    let direct = guest.commit(DIRECT)?;
    if is_first {
        ensure!(direct == child, "{what}: {child}, then {direct}");
    } else {
        judges.image(DIRECT, seen, what)?;
    }
    guest.remove_images(&[DIRECT])?;
    let again = guest.commit(DIRECT)?;
    ensure!(again == direct, "{what}: {direct}, then {again}");
    Ok(())
}

impl Tally {
    /// Returns the figures, or an error if a kind of change was not made.
    fn verdict(&self) -> Result<String> {
        let Self {
            sequences,
            boots,
            entries,
            made,
        } = self;
        let changes: u64 = made.values().sum();
        let absent: Vec<&str> = RandomChanges::kinds()
            .filter(|kind| made.get(*kind).is_none_or(|number| *number == 0))
            .collect();
        let is_complete = absent.is_empty() || *sequences < ALL_KINDS_SEQUENCES;
        ensure!(is_complete, "no guest made these changes: {absent:?}");
        Ok(format!(
            "{sequences} sequences in {boots} boots: {changes} changes of {} kinds, {entries} \
             names seen by guests",
            made.len()
        ))
    }
}
