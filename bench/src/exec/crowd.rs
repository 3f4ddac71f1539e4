use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use super::running::Running;
use super::{conditions, memory};
use crate::report::{Cell, Plot, Row, Table, Target, Unit};

/// The largest growth of a process of the machine for each concurrent command, in KiB.
const GROWTH_MAX_KIB: u64 = 512;

/// Measures `count` commands that all run at the same moment and are all sent a line then.
pub(super) fn measure(sandbox: &Running, count: usize) -> Result<(Table, Vec<Target>)> {
    let before = memory::of_machine(sandbox)?;
    let begun = Instant::now();
    let mut crowd = Vec::new();
    for _ in 0..count {
        crowd.push(Member::start(sandbox)?);
    }
    for member in &mut crowd {
        ensure!(member.line()? == "ready", "a command did not start");
    }
    let all_run_s = begun.elapsed().as_secs_f64();
    let during = memory::of_machine(sandbox)?;
    let largest_kib = crowd
        .iter()
        .map(|member| memory::of_process(member.child.id()));
    let largest_kib = largest_kib.max().unwrap_or_default();
    for (number, member) in crowd.iter_mut().enumerate() {
        member.ask(number)?;
    }
    for (number, member) in crowd.iter_mut().enumerate() {
        ensure!(
            member.line()? == number.to_string(),
            "a command got the output of another"
        );
        ensure!(member.child.wait()?.success(), "a command failed");
    }
    let answered_s = begun.elapsed().as_secs_f64();
    let growth_kib = memory::growth(&before, &during);
    let most_kib = GROWTH_MAX_KIB * count as u64;
    let table = Table {
        title: format!("{count} commands in flight on one sandbox"),
        conditions: conditions(format!("a client of one has at most {largest_kib} KiB")),
        unit: Unit::Seconds,
        columns: vec!["time".to_owned()],
        baseline: None,
        rows: vec![
            Row::new("all run after", vec![Some(Cell::once(all_run_s))]),
            Row::new(
                "all have answered after",
                vec![Some(Cell::once(answered_s))],
            ),
        ],
        plot: Plot::None,
    };
    let small = Target::new(
        growth_kib <= most_kib,
        format!("{count} in flight: msb's processes grew by {growth_kib} KiB (at most {most_kib})"),
    );
    Ok((table, vec![small]))
}

struct Member {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Member {
    fn start(sandbox: &Running) -> Result<Self> {
        let mut child = sandbox.shell("echo ready; read line; echo $line").spawn()?;
        let stdout = BufReader::new(child.stdout.take().context("stdout is piped")?);
        Ok(Self { child, stdout })
    }

    fn ask(&mut self, number: usize) -> Result<()> {
        let mut stdin = self.child.stdin.take().context("stdin is piped")?;
        Ok(writeln!(stdin, "{number}")?)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}
