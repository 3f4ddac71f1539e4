use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;

use super::guest::{Filesystem, Guest};
use super::{InGuest, Outcome, expected, programs};

const VERSION: &str = "0.2.2";
/// The features of the guest's filesystems. The users are Debian's.
const CONFIGURATION: &str = "\
[features]
posix_fallocate = {}
rename_ctime = {}
utime_now = {}
utimensat = {}
[settings]
naptime = 0.01
allow_remount = false
[dummy_auth]
entries = [[\"nobody\", \"nogroup\"], [\"games\", \"games\"]]
";
/// The least number of cases: a suite that does not run does not pass.
const CASES_AT_LEAST: usize = 370;

/// The POSIX test suite that began in FreeBSD, as rewritten in Rust.
pub(super) struct Pjdfstest;

impl InGuest for Pjdfstest {
    fn prepare(directory: &Path) -> Result<()> {
        fs::write(directory.join("pjdfstest.toml"), CONFIGURATION)?;
        programs::bring("pjdfstest", VERSION, directory)
    }

    fn run(guest: &Guest<'_>) -> Result<Outcome> {
        let mut figures = Vec::new();
        let mut differences = Vec::new();
        for filesystem in Filesystem::ALL {
            let script = format!(
                "exec /suites/pjdfstest -c /suites/pjdfstest.toml -p {} -s {} 2>&1",
                filesystem.directory(),
                filesystem.other().directory()
            );
            let output = guest.tried(&script)?;
            let text = String::from_utf8_lossy(&output.stdout);
            let tally = Tally::parse(&text).with_context(|| format!("pjdfstest said {text}"))?;
            ensure!(
                tally.passed + tally.failed.len() >= CASES_AT_LEAST,
                "only {} cases passed and {} failed: {text}",
                tally.passed,
                tally.failed.len()
            );
            let name = filesystem.name();
            figures.push(format!("{name} {}", tally.figures()));
            let expected = match filesystem {
                Filesystem::Root => expected::names("pjdfstest-root.txt")?,
                Filesystem::Volume => BTreeSet::new(),
            };
            differences.extend(expected::differences(name, &expected, &tally.failed));
        }
        Ok(Outcome {
            figures: figures.join("; "),
            differences,
        })
    }
}

/// The results of the cases.
#[derive(Debug)]
struct Tally {
    passed: usize,
    skipped: usize,
    failed: BTreeSet<String>,
}

impl Tally {
    /// Reads the lines `NAME ok`, `NAME FAILED` and `NAME skipped`. Compares them with the suite's
    /// own summary.
    fn parse(text: &str) -> Result<Self> {
        // The reason of a failed case stands below it, indented.
        let cases: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with(char::is_whitespace))
            .collect();
        let ended = |how: &'static str| {
            let names = cases.iter().filter_map(move |line| line.strip_suffix(how));
            names.map(|name| name.trim_end().to_owned())
        };
        let tally = Self {
            passed: ended(" ok").count(),
            skipped: ended(" skipped").count(),
            failed: ended(" FAILED").collect(),
        };
        let summary = format!(
            "Summary: {} failed, {} skipped, {} passed,",
            tally.failed.len(),
            tally.skipped,
            tally.passed
        );
        ensure!(text.contains(&summary), "there is no line {summary:?}");
        Ok(tally)
    }

    fn figures(&self) -> String {
        let (failed, skipped) = (self.failed.len(), self.skipped);
        format!("{} ok, {failed} failed, {skipped} skipped", self.passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_counted_as_the_suite_counts_them() {
        let text = "open::a    ok\nopen::char    FAILED\n\tEPERM ok\nlink::max   skipped\n\n\
            Summary: 1 failed, 1 skipped, 1 passed, 0 expected failures, 3 total\n";
        let tally = Tally::parse(text).expect("understood");
        assert_eq!(tally.figures(), "1 ok, 1 failed, 1 skipped");
        assert!(tally.failed.contains("open::char"));
        assert!(Tally::parse("open::a    ok\n").is_err());
    }
}
