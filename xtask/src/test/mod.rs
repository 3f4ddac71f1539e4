//! Every check and test, in two lanes side by side.
//!
//! One lane has the work of this machine and a few short tests with guests, the other waits for
//! emulated guests, each of which keeps one processor busy.

pub(crate) mod steps;

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::{Arg, ArgMatches};
use test_fixtures::command::{shown, step};
use test_fixtures::{images, kernel, paths, tools};

use crate::lint;
use crate::recipes::recipe;
use steps::{GUESTS, HOST, Step};

/// The files that the steps need, after every test was built.
struct Ready {
    msb: PathBuf,
    kernel: PathBuf,
}

impl Ready {
    /// Builds and fetches everything that is missing.
    fn make() -> Result<Self> {
        step("build every test, and the msb that they run; clippy is the compiler");
        shown(&mut steps::build())?;
        images::all()?;
        Ok(Self {
            msb: paths::root().join("target/debug/msb"),
            kernel: kernel::guest()?,
        })
    }

    /// Passes the files to a test, which then does not make them.
    fn prepare<'a>(&self, tests: &'a mut Command) -> &'a mut Command {
        tests
            .env("MSB_TEST_MSB", &self.msb)
            .env("MSB_KERNEL", &self.kernel)
    }
}

/// Returns the recipe's command line.
pub(crate) fn command() -> clap::Command {
    let only = Arg::new("only")
        .long("only")
        .value_name("WORDS")
        .help("Only the steps whose name holds this, one after the other");
    let lane = Arg::new("lane")
        .long("lane")
        .value_parser(Lane::ALL.map(Lane::name))
        .conflicts_with("only")
        .help("Only the steps of this lane, without what comes before them");
    recipe("test", "Run every check and test").args([only, lane])
}

/// Steps that run one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lane {
    Host,
    Guests,
}

/// Runs all steps, or those that the arguments choose. Continues after a failed step, and fails at
/// the end. Clippy is the compiler of every build, so none compiles what another one has.
pub(crate) fn run(arguments: &ArgMatches) -> Result<()> {
    if !lint::is_judged() {
        let mut again = Command::new(std::env::current_exe()?);
        return shown(lint::judged(again.args(std::env::args_os().skip(1))));
    }
    tools::install_for_tests()?;
    let text = |name| arguments.get_one::<String>(name);
    let lane = Lane::ALL
        .into_iter()
        .find(|lane| text("lane").is_some_and(|name| name == lane.name()));
    match (text("only"), lane) {
        (Some(words), _) => walk("some", &chosen(words)?),
        (None, Some(lane)) => walk(lane.name(), &lane.steps().iter().collect::<Vec<_>>()),
        (None, None) => both_lanes(),
    }
}

fn chosen(words: &str) -> Result<Vec<&'static Step>> {
    let all = HOST.iter().chain(GUESTS);
    let chosen: Vec<_> = all.filter(|step| step.name.contains(words)).collect();
    ensure!(!chosen.is_empty(), "no step has such a name");
    Ok(chosen)
}

impl Lane {
    const ALL: [Self; 2] = [Self::Host, Self::Guests];

    const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Guests => "guests",
        }
    }

    const fn steps(self) -> &'static [Step] {
        match self {
            Self::Host => HOST,
            Self::Guests => GUESTS,
        }
    }
}

/// Runs both lanes. Builds everything first: two lanes that build would wait for each other.
fn both_lanes() -> Result<()> {
    lint::of_sources()?;
    Ready::make()?;
    let guests = Beside::start(Lane::Guests)?;
    let host = walk(Lane::Host.name(), &HOST.iter().collect::<Vec<_>>());
    let guests = guests.end();
    host.and(guests)
}

fn walk(lane: &str, steps: &[&Step]) -> Result<()> {
    let ready = Ready::make()?;
    one_after_the_other(lane, steps, |step| step.name, |step| step.run(&ready))
}

/// Runs steps one after the other, and prints each outcome on its own line. Continues after a failed
/// step, and fails at the end.
pub(crate) fn one_after_the_other<T>(
    title: &str,
    steps: &[T],
    name: impl Fn(&T) -> &str,
    run: impl Fn(&T) -> Result<()>,
) -> Result<()> {
    let mut failed = Vec::new();
    for (number, one) in (1..).zip(steps) {
        let name = name(one);
        step(&format!("{title} {number}/{}: {name}", steps.len()));
        let begun = Instant::now();
        let outcome = run(one);
        let seconds = begun.elapsed().as_secs();
        match outcome {
            Ok(()) => println!("ok      {name} ({seconds} s)"),
            Err(error) => {
                failed.push(name);
                println!("FAILED  {name}: {error:#} ({seconds} s)");
            }
        }
    }
    println!(
        "{title}: {} steps passed, {} failed",
        steps.len() - failed.len(),
        failed.len()
    );
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// A lane in a process of its own; its output is kept until it has ended.
struct Beside {
    lane: Lane,
    process: Child,
    output: PathBuf,
}

impl Beside {
    fn start(lane: Lane) -> Result<Self> {
        let output = paths::kept("lanes")?.join(lane.name());
        let file = File::create(&output)?;
        step(&format!(
            "the lane {} runs beside: {}",
            lane.name(),
            output.display()
        ));
        let process = Command::new(std::env::current_exe()?)
            .args(["test", "--lane", lane.name()])
            // The other lane uses the other processors.
            .env("MSB_TEST_GUESTS", "1")
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
