//! Every check and test, in two lanes side by side: what works on this machine, and what waits for
//! emulated guests, each of which keeps one processor busy.

mod ground;
mod guests;
mod host;

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};

use ground::Ground;

use crate::run::step;
use crate::{docker, image, lint, place, tools};

/// One step: its name, and what it does; it gives what it found.
type Step = (&'static str, fn(&Ground) -> Result<String>);

/// Steps that run one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Lane {
    Host,
    Guests,
}

/// Arguments of `cargo xtask test`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only the steps whose name holds this, one after the other
    #[arg(long, value_name = "WORDS")]
    only: Option<String>,
    /// Only the steps of this lane, without what comes before them
    #[arg(long, conflicts_with = "only")]
    lane: Option<Lane>,
}

/// Runs everything, or what the arguments ask for. Goes on after a failed step, and fails at the end.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    tools::install_for_tests()?;
    match (&arguments.only, arguments.lane) {
        (Some(words), _) => walk("some", &chosen(words)?),
        (None, Some(lane)) => walk(lane.name(), lane.steps()),
        (None, None) => both_lanes(),
    }
}

/// The whole table of invocations.
pub(crate) fn docker() -> Result<String> {
    docker::run(&Ground::prepare("docker")?.docker(), 1)
}

fn chosen(words: &str) -> Result<Vec<Step>> {
    let all = [Lane::Host, Lane::Guests].map(Lane::steps).concat();
    let chosen: Vec<Step> = all
        .into_iter()
        .filter(|(name, _)| name.contains(words))
        .collect();
    ensure!(!chosen.is_empty(), "no step has such a name");
    Ok(chosen)
}

impl Lane {
    const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Guests => "guests",
        }
    }

    const fn steps(self) -> &'static [Step] {
        match self {
            Self::Host => host::STEPS,
            Self::Guests => guests::STEPS,
        }
    }
}

/// Builds everything first: two lanes that build would wait for each other.
fn both_lanes() -> Result<()> {
    lint::run()?;
    image::all()?;
    Ground::prepare("host")?;
    let guests = Beside::start(Lane::Guests)?;
    let host = walk(Lane::Host.name(), Lane::Host.steps());
    let guests = guests.end();
    host.and(guests)
}

/// One after the other, each with its outcome on a line of its own.
fn walk(lane: &str, steps: &[Step]) -> Result<()> {
    let ground = Ground::prepare(lane)?;
    let mut failed = 0;
    for (name, check) in steps {
        step(name);
        let begun = Instant::now();
        let outcome = check(&ground);
        let seconds = begun.elapsed().as_secs();
        match outcome {
            Ok(found) => println!("ok      {name}: {found} ({seconds} s)"),
            Err(error) => {
                failed += 1;
                println!("FAILED  {name}: {error:?} ({seconds} s)");
            }
        }
    }
    let passed = steps.len() - failed;
    println!("{lane}: {passed} steps passed, {failed} failed");
    ensure!(failed == 0, "{failed} steps failed");
    Ok(())
}

/// A lane in a process of its own; what it prints is kept until it has ended.
struct Beside {
    lane: Lane,
    process: Child,
    output: std::path::PathBuf,
}

impl Beside {
    fn start(lane: Lane) -> Result<Self> {
        let output = place::kept("lanes")?.join(lane.name());
        let file = File::create(&output)?;
        step(&format!(
            "the lane {} runs beside: {}",
            lane.name(),
            output.display()
        ));
        let process = Command::new(std::env::current_exe()?)
            .args(["test", "--lane", lane.name()])
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        Ok(Self {
            lane,
            process,
            output,
        })
    }

    fn end(mut self) -> Result<()> {
        let status = self.process.wait()?;
        step(&format!("what the lane {} printed", self.lane.name()));
        print!("{}", std::fs::read_to_string(&self.output)?);
        ensure!(status.success(), "the lane {} failed", self.lane.name());
        Ok(())
    }
}
