use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use fs_err as fs;

use test_fixtures::paths;

/// Returns the names in `ci/suites/FILE`, one a line; lines that begin with `#` give the reasons.
pub(super) fn names(file: &str) -> Result<BTreeSet<String>> {
    let path = paths::root().join("ci/suites").join(file);
    let text = fs::read_to_string(&path)?;
    let names: BTreeSet<String> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    ensure!(!names.is_empty(), "{} names nothing", path.display());
    Ok(names)
}

/// Returns the differences between the failed tests and those that are expected to fail.
pub(super) fn differences(
    place: &str,
    expected: &BTreeSet<String>,
    failed: &BTreeSet<String>,
) -> Vec<String> {
    let more = failed
        .difference(expected)
        .map(|name| format!("{place}: {name} failed and is not expected to"));
    let less = expected
        .difference(failed)
        .map(|name| format!("{place}: {name} is expected to fail and did not"));
    more.chain(less).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn more_and_fewer_failures_are_both_differences() {
        let found = differences("root", &set(&["a", "b"]), &set(&["b", "c"]));
        assert_eq!(
            found,
            [
                "root: c failed and is not expected to",
                "root: a is expected to fail and did not"
            ]
        );
        assert!(differences("root", &set(&["a"]), &set(&["a"])).is_empty());
    }
}
