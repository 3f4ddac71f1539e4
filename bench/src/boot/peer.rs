use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::account::Accounts;
use super::life::Lives;
use super::starts::Starts;
use super::{COMMAND, CPUS, MEMORY};
use crate::msb::text;
use crate::report::{Cell, Conditions, Plot, Row, Table, Target, Unit};

/// The largest allowed shares of the peer's time, for the first byte and for create.
const FIRST_BYTE_SHARE: f64 = 0.4;
const CREATE_SHARE: f64 = 0.3;

/// The peer's name for the image.
const IMAGE: &str = "localhost/bench-boot:latest";
const NAME: &str = "bench-boot";

/// Another product that runs images in microVMs, with its own home directory.
pub(super) struct Peer {
    program: PathBuf,
    home: TempDir,
    version: String,
}

/// Seconds of one round.
pub(super) struct PeerTimes {
    first_byte_s: f64,
    create_s: f64,
    start_s: f64,
}

/// The times of all counted rounds.
#[derive(Default)]
pub(super) struct PeerRounds {
    first_byte: Vec<f64>,
    create: Vec<f64>,
    create_alone: Vec<f64>,
}

impl Peer {
    /// Returns a peer that has loaded the image.
    pub(super) fn load(program: &Path, archive: &Path) -> Result<Self> {
        let mut peer = Self {
            program: std::path::absolute(program)?,
            home: tempfile::tempdir()?,
            version: String::new(),
        };
        peer.version = text(peer.command().arg("--version"))?.trim().to_owned();
        let mut load = peer.command();
        load.args(["load", "--quiet", "--tag", IMAGE, "--input"])
            .arg(archive);
        text(&mut load).context("the peer refused the image")?;
        Ok(peer)
    }

    /// Returns the text that explains the comparison.
    pub(super) fn words(&self) -> String {
        format!(
            "the peer is {}; first byte: its run, as msb run --rm; its create also boots, so it stands beside \
             msb create and msb start together; create alone: its create less its start of the sandbox it \
             made, beside msb create",
            self.version
        )
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // The peer uses the same variable for its home.
        command
            .env("MSB_HOME", self.home.path())
            .env("HOME", self.home.path());
        command
    }

    fn with_sandbox(&self, word: &str, options: &[&str]) -> Command {
        let mut command = self.command();
        command.args([word, "--quiet"]).args(options);
        command.args(["--name", NAME, "--cpus", CPUS, "--memory", MEMORY]);
        command.args(["--pull", "never", IMAGE]);
        command
    }

    /// Measures the peer's first byte and its create.
    pub(super) fn round(&self, starts: &mut Starts) -> Result<PeerTimes> {
        let run = starts.again(|starts| {
            let _sandbox = Left { peer: self, starts };
            let mut run = self.with_sandbox("run", &["--no-stdin"]);
            starts.first_byte(run.arg("--").args(COMMAND))
        })?;
        let (create_s, start_s) = starts.again(|starts| {
            let _sandbox = Left { peer: self, starts };
            let mut create = self.with_sandbox("create", &[]);
            let Some(create_s) = starts.timed(&mut create)? else {
                return Ok(None);
            };
            let mut stop = self.command();
            let stopped = starts.timed(stop.args(["stop", "--quiet", NAME]))?;
            let mut start = self.command();
            let start_s = starts.timed(start.args(["start", "--quiet", NAME]))?;
            Ok(stopped.and(start_s).map(|start_s| (create_s, start_s)))
        })?;
        Ok(PeerTimes {
            first_byte_s: run.first_byte_s,
            create_s,
            start_s,
        })
    }
}

/// The peer's sandbox, in any state. It is removed when this value is dropped.
struct Left<'a> {
    peer: &'a Peer,
    starts: &'a Starts,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        // The peer's removal asks the guest to shut down, which would never end for a lost guest.
        for word in ["stop", "remove"] {
            let mut command = self.peer.command();
            command.args([word, "--force", "--quiet", NAME]);
            // Anything left over is removed with the peer's home.
            let _ = self.starts.timed(command.stderr(Stdio::null()));
        }
    }
}

impl PeerRounds {
    pub(super) fn add(&mut self, times: PeerTimes) {
        self.first_byte.push(times.first_byte_s);
        self.create.push(times.create_s);
        self.create_alone.push(times.create_s - times.start_s);
    }

    /// Returns the table of both side by side, and the targets.
    pub(super) fn beside(
        &self,
        accounts: &Accounts,
        lives: &Lives,
        conditions: Conditions,
    ) -> (Table, Vec<Target>) {
        let row = |name: &str, peer: &[f64], ours: Cell| {
            Row::new(
                name,
                vec![Some(Cell::from_rounds(peer.to_vec())), Some(ours)],
            )
        };
        let table = Table {
            title: "Beside a peer".to_owned(),
            conditions,
            unit: Unit::Seconds,
            columns: ["the peer", "msb"].map(str::to_owned).into(),
            baseline: Some(0),
            rows: vec![
                row("first byte", &self.first_byte, accounts.first_byte()),
                row("create and boot", &self.create, lives.create_and_start()),
                row("create alone", &self.create_alone, lives.create()),
            ],
            plot: Plot::Ratios,
        };
        let shares = [(0, FIRST_BYTE_SHARE), (2, CREATE_SHARE)];
        let targets = shares
            .into_iter()
            .filter_map(|(row, most)| judge(table.rows.get(row)?, most))
            .collect();
        (table, targets)
    }
}

/// Judges by the median of the rounds' ratios, which the table shows. If a round of the peer took
/// no time, because a difference of two times can be 0, judges by the ratio of the medians.
fn judge(row: &Row, most: f64) -> Option<Target> {
    let (peer, ours) = (row.cell(0)?, row.cell(1)?);
    let share = if peer.rounds.iter().all(|&seconds| seconds > 0.0) {
        ours.ratio_to(peer)?.median
    } else {
        ours.spread()?.median / peer.spread()?.median
    };
    let name = &row.name;
    Some(if share.is_finite() && share >= 0.0 {
        let words = format!("{name}: {share:.2} of the peer's time (at most {most})");
        Target::new(share <= most, words)
    } else {
        Target::new(
            false,
            format!("{name}: the peer's time is too short to be measured"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_cannot_be_told_meets_no_target() {
        let row = |peer: f64| {
            let cells = [peer, 0.2].map(|seconds| Some(Cell::once(seconds)));
            Row::new("create alone", cells.into())
        };
        let met = |peer| judge(&row(peer), 0.3).expect("both were measured").met;
        assert!(met(1.0) && !met(0.5) && !met(0.0) && !met(-1.0));
    }

    #[test]
    fn ratios_of_rounds_are_judged_where_they_mean_something() {
        let row = |peer: [f64; 3]| {
            let cells =
                [peer.to_vec(), vec![1.0, 1.0, 4.0]].map(|rounds| Some(Cell::from_rounds(rounds)));
            Row::new("first byte", cells.into())
        };
        let words = |peer| judge(&row(peer), 0.6).expect("both were measured").words;
        assert!(words([2.0, 4.0, 4.0]).contains("0.50"));
        assert!(words([-1.0, 4.0, 4.0]).contains("0.25"));
    }
}
