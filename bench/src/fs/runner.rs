//! The program that measures, and the exchange of messages with it.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use msb_bench_runner::Line;

use super::progress::Progress;

/// The runner, a static executable.
pub(crate) static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/msb-bench-runner"));

/// A hostile guest can print anything, so the length and the number of lines are limited.
const LINE_MAX_BYTES: u64 = 64 << 10;
const LINES_MAX: usize = 1_000_000;

/// Runs the command that starts the runner, and reads its output to the end.
pub(super) fn converse(command: &mut Command) -> Result<Vec<Line>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {:?}", command.get_program()))?;
    let mut answers = child.stdin.take().context("stdin is piped")?;
    let mut output = BufReader::new(child.stdout.take().context("stdout is piped")?);
    let mut lines = Vec::new();
    let progress = Progress::on_terminal();
    while let Some(line) = next_line(&mut output)? {
        if matches!(line, Line::DropHostCaches) {
            drop_caches()?;
            answers.write_all(b"dropped\n")?;
        } else {
            progress.send(&line);
            lines.push(line);
        }
        ensure!(
            lines.len() < LINES_MAX,
            "the runner printed too many lines, the limit is {LINES_MAX}"
        );
    }
    let status = child.wait()?;
    ensure!(status.success(), "the runner ended with {status}");
    Ok(lines)
}

fn next_line(output: &mut impl BufRead) -> Result<Option<Line>> {
    let mut text = String::new();
    let count = output.take(LINE_MAX_BYTES).read_line(&mut text)?;
    if count == 0 {
        return Ok(None);
    }
    ensure!(
        text.ends_with('\n'),
        "the runner printed too long a line, the limit is {LINE_MAX_BYTES} bytes"
    );
    let line = serde_json::from_str(&text)
        .with_context(|| format!("cannot parse the runner's line {:?}", text.trim_end()))?;
    Ok(Some(line))
}

/// Returns true if this process can drop the host's caches.
pub(super) fn can_drop_caches() -> bool {
    fs::File::options()
        .write(true)
        .open(Path::new(DROP_CACHES))
        .is_ok()
}

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

fn drop_caches() -> Result<()> {
    ensure!(Command::new("sync").status()?.success(), "sync failed");
    fs::write(DROP_CACHES, "3").context("cannot drop the host's caches")
}
