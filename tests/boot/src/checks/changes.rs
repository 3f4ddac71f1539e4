//! The list that `msb diff` prints of a guest's changes, compared with a walk inside that guest.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use test_support::{TestEnv, expect_code, finish, schema, spawn};

use super::durability::remove;

const NAME: &str = "checks-changes";
/// The directories that are compared; walking all of an image takes minutes under emulation.
const DIRECTORIES: [&str; 2] = ["/etc", "/usr/share"];
const WALK: &str = include_str!("changes.py");
const CHANGE: &str = include_str!("changes.sh");

/// The files of the guest: whether each is a directory, its time, and everything else.
type Walk = BTreeMap<String, (bool, i64, Value)>;

/// Checks that `msb diff` and the guest agree about what changed, while it runs and afterwards.
pub(super) fn listed(env: &TestEnv) -> Result<()> {
    let start = || {
        let _ = remove(env, NAME);
        let own = ["-d", "--name", NAME, "--network", "none"];
        env.run_command(&own, &["sleep", "1000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    let before = walk(env)?;
    feed(env, &["sh"], CHANGE)?;
    let after = walk(env)?;
    let found = changes(env)?;
    expect_code(&msb(env, &["stop", "-t", "0", NAME])?, 0)?;
    ensure!(found == changes(env)?, "the stop changed what is listed");
    let expected = differences(&before, &after);
    ensure!(
        expected.len() > 15,
        "the guest changed little: {expected:?}"
    );
    ensure!(
        found == expected,
        "only msb: {:?}\nonly the guest: {:?}",
        found.difference(&expected).collect::<Vec<_>>(),
        expected.difference(&found).collect::<Vec<_>>()
    );
    remove(env, NAME)
}

/// Returns the changes that msb lists, each as its kind and its path.
fn changes(env: &TestEnv) -> Result<BTreeSet<(String, String)>> {
    let words = ["diff", "--format", "json", NAME, "--"];
    let output = msb(env, &[&words[..], &DIRECTORIES].concat())?;
    expect_code(&output, 0)?;
    let document = std::str::from_utf8(&output.stdout)?;
    schema::judge("diff", document)?;
    let json: Value = serde_json::from_str(document)?;
    let changes = json.as_array().context("no list")?;
    let text = |change: &Value, key: &str| -> Result<String> {
        Ok(change[key]
            .as_str()
            .with_context(|| format!("{key}: {change}"))?
            .to_owned())
    };
    let moved = changes
        .iter()
        .find(|change| change["path"] == "/usr/share/moved");
    ensure!(
        moved.is_some_and(|change| change["renamed_from"] == "/usr/share/perl5"),
        "{moved:?}"
    );
    let linked = changes
        .iter()
        .find(|change| change["path"] == "/etc/linked");
    ensure!(
        linked.is_some_and(|change| change["hard_link"] == "/etc/debian_version"),
        "{linked:?}"
    );
    let pairs = changes
        .iter()
        .map(|change| Ok((text(change, "kind")?, text(change, "path")?)));
    pairs.collect()
}

/// Returns the changes between two walks.
fn differences(before: &Walk, after: &Walk) -> BTreeSet<(String, String)> {
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let is_in_directory = |path: &str| {
        let parent = path.rsplit_once('/').map(|(parent, _)| parent);
        parent
            .and_then(|parent| after.get(parent))
            .is_some_and(|(is_directory, ..)| *is_directory)
    };
    let kind = |path: &str| match (before.get(path), after.get(path)) {
        (None, Some(_)) => Some("added"),
        // What goes with its directory is not listed by itself.
        (Some(_), None) => is_in_directory(path).then_some("deleted"),
        (Some(old), Some(new)) => {
            let is_directory = old.0 && new.0;
            let is_changed = old.2 != new.2 || (old.1 != new.1 && !is_directory);
            is_changed.then_some("changed")
        }
        (None, None) => None,
    };
    let changes = paths.into_iter();
    let changes = changes.filter_map(|path| Some((kind(path)?.to_owned(), path.clone())));
    changes.collect()
}

fn walk(env: &TestEnv) -> Result<Walk> {
    let words = [&["python3", "-"][..], &DIRECTORIES].concat();
    let printed = feed(env, &words, WALK)?;
    let lines = std::str::from_utf8(&printed)?.lines();
    let files = lines.map(|line| {
        let (path, is_directory, time, rest) = serde_json::from_str(line)?;
        Ok((path, (is_directory, time, rest)))
    });
    files.collect()
}

/// Runs a command in the guest with this input, and returns its output.
fn feed(env: &TestEnv, command: &[&str], input: &str) -> Result<Vec<u8>> {
    let words = [&["exec", "-i", NAME][..], command].concat();
    let output = finish(spawn(env.msb().args(words))?, input.as_bytes())?;
    expect_code(&output, 0)?;
    Ok(output.stdout)
}

fn msb(env: &TestEnv, words: &[&str]) -> Result<Output> {
    Ok(env.msb().args(words).output()?)
}
