//! How long it takes from a typed command to a first byte from a sandbox: in one go, and stage by stage.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::msb::{Msb, text, vmm_words};
use crate::report::{
    Cache, Cell, Conditions, Durability, Machine, Plot, Report, Row, Showing, Table, Unit,
};

const NAME: &str = "bench-boot";
const STAGES: [&str; 5] = ["create", "start", "first byte", "stop", "remove"];

/// Arguments of `msb bench boot`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// An image with `echo` and `sleep`
    image: String,
    /// The VMM: krun, qemu, or what fits this host
    #[arg(long, default_value = "auto", env = "MSB_VMM")]
    vmm: String,
    /// Counted rounds
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let mut stages: [Vec<f64>; STAGES.len()] = Default::default();
    let mut whole = Vec::new();
    for round in 0..=arguments.rounds {
        let of_stages = by_stages(arguments, msb)?;
        let of_run = in_one_go(arguments, msb)?;
        if round > 0 {
            for (all, one) in stages.iter_mut().zip(of_stages) {
                all.push(one);
            }
            whole.push(of_run);
        }
    }
    let cells = stages.map(|rounds| Some(Cell::of_rounds(rounds)));
    let tables = vec![
        table(
            arguments,
            "From msb run to its first byte",
            vec!["first byte".to_owned()],
            vec![Row::new("msb run --rm", vec![Some(Cell::of_rounds(whole))])],
            Plot::None,
        ),
        table(
            arguments,
            "A sandbox's life, a command a stage",
            STAGES.map(str::to_owned).into(),
            vec![Row::new("one sandbox", cells.into())],
            Plot::Stacked,
        ),
    ];
    let machine = Machine::this(Some(vmm_words(&arguments.vmm).to_owned()));
    Ok(Report::new("boot", machine, tables, Vec::new()))
}

fn table(
    arguments: &Arguments,
    title: &str,
    columns: Vec<String>,
    rows: Vec<Row>,
    plot: Plot,
) -> Table {
    Table {
        title: title.to_owned(),
        conditions: Conditions {
            cache: Cache::Warm,
            durability: Durability::None,
            place: format!("{}, 1 CPU, 256 MiB", arguments.image),
            notes: vec![
                format!("{} rounds after one warm-up", arguments.rounds),
                "a start ends when the guest's agent answers".to_owned(),
            ],
        },
        unit: Unit::Seconds,
        columns,
        baseline: None,
        rows,
        plot,
    }
}

/// Seconds from the command to the first byte.
fn in_one_go(arguments: &Arguments, msb: &Msb) -> Result<f64> {
    let mut run = msb.command();
    run.args(["run", "--quiet", "--rm", "--pull", "never"]);
    run.args(["--vmm", &arguments.vmm, "--cpus", "1", "--memory", "256m"]);
    first_byte(run.args([&arguments.image, "echo", "here"]))
}

/// Seconds of each stage.
fn by_stages(arguments: &Arguments, msb: &Msb) -> Result<[f64; STAGES.len()]> {
    let mut create = msb.command();
    create.args(["create", "--quiet", "--pull", "never", "--name", NAME]);
    create.args([
        "--cpus",
        "1",
        "--memory",
        "256m",
        "--no-command",
        &arguments.image,
    ]);
    let mut start = msb.command();
    start.args(["start", "--vmm", &arguments.vmm, NAME]);
    let line = |words: &[&str]| {
        let mut line = msb.command();
        line.args(words);
        line
    };
    Ok([
        timed(&mut create)?,
        timed(&mut start)?,
        first_byte(&mut line(&["exec", NAME, "echo", "here"]))?,
        timed(&mut line(&["stop", NAME]))?,
        timed(&mut line(&["rm", NAME]))?,
    ])
}

fn timed(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    text(command)?;
    Ok(begun.elapsed().as_secs_f64())
}

fn first_byte(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdout = child.stdout.take().context("stdout is piped")?;
    stdout.read_exact(&mut [0])?;
    let elapsed = begun.elapsed().as_secs_f64();
    stdout.read_to_end(&mut Vec::new())?;
    let status = child.wait()?;
    ensure!(status.success(), "{command:?} gave {status}");
    Ok(elapsed)
}
