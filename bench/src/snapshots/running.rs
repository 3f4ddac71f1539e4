//! Snapshots, forks and rollbacks of a running sandbox.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::sandbox::{FIRST, FORK, NAME, RUNNER_PATH, tidy};
use super::{Arguments, conditions};
use crate::msb::{Msb, text};
use crate::report::{Cell, Plot, Row, Table, Unit};

/// The longest line of the guest that is read: a hostile guest can print anything.
const LINE_MAX_BYTES: u64 = 64;

/// A sandbox that runs until this value is dropped.
struct Running<'a> {
    msb: &'a Msb,
    vmm: &'a str,
}

/// Measures each operation in turn, in a guest that was booted for it.
pub(super) fn measure(arguments: &Arguments, msb: &Msb) -> Result<Vec<Table>> {
    let sandbox = Running {
        msb,
        vmm: &arguments.vmm,
    };
    sandbox.start()?;
    let booted = [
        sandbox.msb(&["stop", "-t", "0", NAME]),
        sandbox.msb(&["rollback", FIRST]),
        sandbox.msb(&["start", "--quiet", "--vmm", sandbox.vmm, NAME]),
        sandbox.first_exec(),
    ];
    let warm = [
        sandbox.msb(&["rollback", "-t", "0", "--vmm", sandbox.vmm, FIRST]),
        sandbox.first_exec(),
    ];
    let operations: [(&str, Vec<Command>); 4] = [
        (
            "snapshot create",
            vec![sandbox.msb(&["snapshot", "create", NAME])],
        ),
        ("fork", vec![sandbox.msb(&["fork", NAME, FORK])]),
        ("rollback, to the end of the first exec", warm.into()),
        ("the same by stop, rollback and start", booted.into()),
    ];
    let mut walls: Vec<Vec<f64>> = vec![Vec::new(); operations.len()];
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let mut operations = operations;
    for round in 0..=arguments.rounds {
        let gaps = sandbox.gaps()?;
        for ((_, commands), walls) in operations.iter_mut().zip(&mut walls) {
            sandbox.write()?;
            let begun = Instant::now();
            for command in commands {
                text(command)?;
            }
            // The first round warms the caches.
            if round > 0 {
                walls.push(begun.elapsed().as_secs_f64());
            }
            tidy(msb)?;
        }
        if round > 0 {
            with.push(gaps.with_a_snapshot_s);
            without.push(gaps.without_s);
        }
    }
    let rows = operations
        .iter()
        .zip(walls)
        .map(|((name, _), walls)| row(name, walls));
    let table = |title: &str, notes: &[&str], rows| Table {
        title: title.to_owned(),
        conditions: conditions(arguments, notes),
        unit: Unit::Seconds,
        columns: vec!["each".to_owned()],
        baseline: None,
        rows,
        plot: Plot::None,
    };
    Ok(vec![
        table(
            "A running sandbox: time",
            &[
                "a block is written and not synced before each operation",
                "whole commands, the start of the program included; nothing is synced after them",
            ],
            rows.collect(),
        ),
        table(
            "A running sandbox: how long a writer stands still",
            &[
                "the longest time between the ends of two writes of 4 KiB in the guest, by the guest's clock: \
                 what waits for the sync before the freeze is in it, and so is what the guest does besides",
                "writes of a file of 1 MiB, without a pause and never synced",
            ],
            vec![
                row("while a snapshot is taken", with),
                row("in the same time without one", without),
            ],
        ),
    ])
}

fn row(name: &str, figures: Vec<f64>) -> Row {
    Row::new(name, vec![Some(Cell::from_rounds(figures))])
}

/// The longest gaps of a writer in the guest.
struct Gaps {
    with_a_snapshot_s: f64,
    without_s: f64,
}

impl Running<'_> {
    fn start(&self) -> Result<()> {
        text(&mut self.msb(&["start", "--quiet", "--vmm", self.vmm, NAME])).map(drop)
    }

    fn msb(&self, words: &[&str]) -> Command {
        let mut command = self.msb.command();
        command.args(words);
        command
    }

    /// Returns the command whose end shows that the sandbox can be used.
    fn first_exec(&self) -> Command {
        self.msb(&["exec", NAME, RUNNER_PATH, "nothing"])
    }

    /// Changes a file in the guest.
    fn write(&self) -> Result<()> {
        let mut writer = Writer::start(self)?;
        writer.longest_gap_s()?;
        writer.end()
    }

    /// Measures the gaps of a writer while a snapshot is taken, then for the same time without one.
    fn gaps(&self) -> Result<Gaps> {
        let mut writer = Writer::start(self)?;
        writer.longest_gap_s()?;
        let begun = Instant::now();
        text(&mut self.msb(&["snapshot", "create", NAME]))?;
        let took = begun.elapsed();
        let with_a_snapshot_s = writer.longest_gap_s()?;
        std::thread::sleep(took.max(Duration::from_millis(1)));
        let without_s = writer.longest_gap_s()?;
        writer.end()?;
        tidy(self.msb)?;
        Ok(Gaps {
            with_a_snapshot_s,
            without_s,
        })
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // It may have stopped; what is left of it shows in `msb ps`.
        let _ = text(&mut self.msb(&["kill", NAME]));
    }
}

/// A program in the guest that writes without a pause.
struct Writer {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Writer {
    fn start(sandbox: &Running<'_>) -> Result<Self> {
        let mut exec = sandbox.msb(&["exec", "--interactive", NAME, RUNNER_PATH, "gaps", "/gaps"]);
        let mut child = exec.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let questions = child.stdin.take().context("stdin is piped")?;
        let answers = BufReader::new(child.stdout.take().context("stdout is piped")?);
        Ok(Self {
            child,
            questions,
            answers,
        })
    }

    /// Returns the longest gap since the last call, in seconds.
    fn longest_gap_s(&mut self) -> Result<f64> {
        self.questions.write_all(b"\n")?;
        let mut line = String::new();
        (&mut self.answers)
            .take(LINE_MAX_BYTES)
            .read_line(&mut line)?;
        line.trim()
            .parse()
            .context("the writer in the guest gave no number")
    }

    fn end(self) -> Result<()> {
        let Self {
            mut child,
            questions,
            ..
        } = self;
        drop(questions);
        child.wait()?;
        Ok(())
    }
}
