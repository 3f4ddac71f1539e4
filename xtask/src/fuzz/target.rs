use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use std::fs;

use test_fixtures::paths;

/// Memory of a target, the sanitizer's own included, in MiB.
const RSS_MIB: u32 = 1024;
/// The largest single allocation of a target, in MiB.
const ALLOCATION_MIB: u32 = 256;
/// Seconds for one input, on a machine with other work too.
const TIMEOUT_S: u32 = 25;
/// The longest input, in bytes.
const INPUT_BYTES: u32 = 64 << 10;

/// A fuzz target that is built.
pub(super) struct Target {
    pub(super) name: String,
    program: PathBuf,
}

/// The outcome of a target's run.
pub(super) struct Outcome {
    name: String,
    seconds: u32,
    pub(super) executions: u64,
    coverage: u64,
    pub(super) failed: bool,
    /// The end of libFuzzer's report.
    pub(super) report: String,
}

impl Target {
    /// Returns every target in `fuzz/fuzz_targets`.
    pub(super) fn all(programs: &Path) -> Result<Vec<Self>> {
        let mut names = Vec::new();
        for file in fs::read_dir(paths::root().join("fuzz/fuzz_targets"))? {
            let path = file?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            names.push(stem.context("a target's name is text")?.to_owned());
        }
        names.sort_unstable();
        let target = |name: String| Self {
            program: programs.join(&name),
            name,
        };
        Ok(names.into_iter().map(target).collect())
    }

    /// Runs the target for `seconds`. New inputs go to a corpus below `target`, findings beside it.
    pub(super) fn run(&self, seconds: u32) -> Result<Outcome> {
        let corpus = paths::kept(&format!("fuzz/corpus/{}", self.name))?;
        let findings = paths::kept(&format!("fuzz/findings/{}", self.name))?;
        let output = Command::new(&self.program)
            .arg(&corpus)
            .arg(paths::root().join("fuzz/corpus").join(&self.name))
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-rss_limit_mb={RSS_MIB}"))
            .arg(format!("-malloc_limit_mb={ALLOCATION_MIB}"))
            .arg(format!("-timeout={TIMEOUT_S}"))
            .arg(format!("-max_len={INPUT_BYTES}"))
            .arg(format!("-artifact_prefix={}/", findings.display()))
            .arg("-print_final_stats=1")
            .env("ASAN_OPTIONS", "detect_odr_violation=0")
            .output()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.lines().collect();
        Ok(Outcome {
            name: self.name.clone(),
            seconds,
            executions: figure(&lines, "stat::number_of_executed_units:").unwrap_or(0),
            coverage: figure(&lines, "cov:").unwrap_or(0),
            failed: !output.status.success(),
            report: lines[lines.len().saturating_sub(60)..].join("\n"),
        })
    }
}

/// Returns the last number that follows `label`; `None` if there is none.
fn figure(lines: &[&str], label: &str) -> Option<u64> {
    let line = lines.iter().rfind(|line| line.contains(label))?;
    let (_, rest) = line.split_once(label)?;
    rest.split_whitespace().next()?.parse().ok()
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            seconds,
            executions,
            coverage,
            ..
        } = self;
        let verdict = if self.failed { "FOUND" } else { "ok" };
        write!(
            f,
            "{verdict:5} {name}: {executions} executions in {seconds} s, {coverage} edges"
        )
    }
}
