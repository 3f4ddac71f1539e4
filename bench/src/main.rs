//! `msb-bench`, the program behind `msb bench`. It measures the cost of msb beside the least
//! possible cost, and beside other programs that do the same work. Only ratios can be compared
//! between machines.
//!
//! A benchmark returns a `Report`: tables of figures, each with its conditions, and the targets
//! that it judges. The reports of all benchmarks are shown in the same way.
//!
//! msb is run as its users run it, by its command line.

mod allocation;
mod boot;
mod bound;
mod commit;
mod diff;
mod disk;
mod edge;
mod exec;
mod fs;
mod growth;
mod image;
mod interrupt;
mod layout;
mod measure;
mod msb;
mod pull;
mod push;
mod report;
mod sandbox;
mod snapshots;
mod staged;
mod timing;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};

use interrupt::interruptible;
use msb::Msb;

/// The exit code of a benchmark that misses a target.
const EXIT_MISSED: u8 = 1;
/// The exit code of a benchmark that could not be run, the same as for an msb that failed.
const EXIT_FAILED: u8 = 125;

/// Measure the cost of msb on this host, beside the least possible cost
#[derive(Debug, Parser)]
#[command(
    name = "msb-bench",
    bin_name = "msb bench",
    version,
    max_term_width = 100
)]
#[command(after_help = "Examples:\n  \
    msb bench boot alpine           time from the command to the sandbox's first output\n  \
    msb bench fs python:3-slim      the filesystems of a sandbox, measured from within\n  \
    msb bench image ./layout        loading an OCI layout, beside other tools\n\n\
    A benchmark exits with 1 where a target is missed.")]
struct Arguments {
    /// The msb to measure [default: the one beside this program]
    #[arg(long, value_name = "FILE", hide = true)]
    msb: Option<PathBuf>,
    /// The directory with msb's images and sandboxes [default: ~/.msb]
    #[arg(long, env = "MSB_HOME", value_name = "DIR", hide = true)]
    home: Option<PathBuf>,
    #[command(subcommand)]
    benchmark: Benchmark,
}

/// The benchmarks.
#[derive(Debug, Subcommand)]
enum Benchmark {
    /// Measure a sandbox's filesystems from within: the image's files, its writable disk, others
    #[command(after_help = fs::HELP)]
    Fs(fs::Arguments),
    /// Measure the time from the command to the sandbox's first output, in one run and in stages
    Boot(boot::Arguments),
    /// Measure loading an image, against the least possible cost and against other tools
    Image(image::Arguments),
    /// Measure the growth of the cost of images and sandboxes with layers, files and whiteouts
    Growth(growth::Arguments),
    /// Measure `msb diff` by the names and bytes of the image, and by the changes
    Diff(diff::Arguments),
    /// Measure `msb commit` beside tar and gzip of the same files
    Commit(commit::Arguments),
    /// Measure `msb pull` over a simulated network: large layers in ranges, beside one stream each
    Pull(pull::Arguments),
    /// Measure `msb push` to a registry on this host, beside skopeo
    Push(push::Arguments),
    /// Measure a writable disk before its first use: time, bytes, and growth under an idle guest
    Disk(disk::Arguments),
    /// Measure `msb exec`: its output against the console's, many at once, a reader that stalls, MCP
    Exec(exec::Arguments),
    /// Measure TLS that is ended for the hosts of secrets, beside TLS that is passed on
    Edge(edge::Arguments),
    /// Measure snapshots, rollbacks and forks beside a copy of the disk
    Snapshots(snapshots::Arguments),
    /// Measure staged directories: creation, work in a guest, review, apply, commands that are undone
    Staged(staged::Arguments),
    /// Read, hash, decompress, hash and write an OCI layout's blobs: the bound of loading it
    #[command(hide = true)]
    Bound(image::BoundArguments),
    /// Run a command and print its cost, as JSON
    #[command(hide = true)]
    Measure(measure::Arguments),
}

fn main() -> ExitCode {
    match measure(Arguments::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            report_failure(&error);
            ExitCode::from(EXIT_FAILED)
        }
    }
}

#[expect(
    clippy::print_stderr,
    reason = "the one place where failures are printed"
)]
fn report_failure(error: &anyhow::Error) {
    eprintln!("msb bench: {error:#}");
}

/// Runs the benchmark of the command line. Returns its exit code.
fn measure(arguments: Arguments) -> Result<u8> {
    // A process that is itself measured must have no other threads and no sandboxes.
    match &arguments.benchmark {
        Benchmark::Bound(arguments) => return image::bound(arguments).map(|()| 0),
        Benchmark::Measure(arguments) => return measure::run(arguments).map(|()| 0),
        Benchmark::Boot(_)
        | Benchmark::Commit(_)
        | Benchmark::Diff(_)
        | Benchmark::Disk(_)
        | Benchmark::Edge(_)
        | Benchmark::Exec(_)
        | Benchmark::Fs(_)
        | Benchmark::Growth(_)
        | Benchmark::Image(_)
        | Benchmark::Pull(_)
        | Benchmark::Push(_)
        | Benchmark::Snapshots(_)
        | Benchmark::Staged(_) => {}
    }
    let msb = Msb::find(arguments.msb, arguments.home)?;
    interruptible(move || report(&arguments.benchmark, &msb))
}

/// Measures and shows the report. Returns an exit code that tells if all targets were met.
fn report(benchmark: &Benchmark, msb: &Msb) -> Result<u8> {
    let (report, showing) = match benchmark {
        Benchmark::Boot(arguments) => (boot::run(arguments, msb)?, &arguments.showing),
        Benchmark::Image(arguments) => (image::run(arguments, msb)?, &arguments.showing),
        Benchmark::Growth(arguments) => (growth::run(arguments, msb)?, &arguments.showing),
        Benchmark::Diff(arguments) => (diff::run(arguments, msb)?, &arguments.showing),
        Benchmark::Commit(arguments) => (commit::run(arguments, msb)?, &arguments.showing),
        Benchmark::Pull(arguments) => (pull::run(arguments, msb)?, &arguments.showing),
        Benchmark::Push(arguments) => (push::run(arguments, msb)?, &arguments.showing),
        Benchmark::Snapshots(arguments) => (snapshots::run(arguments, msb)?, &arguments.showing),
        Benchmark::Staged(arguments) => (staged::run(arguments, msb)?, &arguments.showing),
        Benchmark::Disk(arguments) => (disk::run(arguments, msb)?, &arguments.showing),
        Benchmark::Edge(arguments) => (edge::run(arguments, msb)?, &arguments.showing),
        Benchmark::Exec(arguments) => (exec::run(arguments, msb)?, &arguments.showing),
        Benchmark::Fs(arguments) => (fs::run(arguments, msb)?, &arguments.showing),
        Benchmark::Bound(_) | Benchmark::Measure(_) => bail!("this benchmark writes no report"),
    };
    showing.show(&report)?;
    let is_met = report.targets.iter().all(|target| target.met);
    Ok(if is_met { 0 } else { EXIT_MISSED })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// Returns the first line of prose that ends within a sentence. Examples are commands, not prose.
    fn broken_line(help: &str) -> Option<&str> {
        let prose = help.split("Examples:").next().unwrap_or(help);
        let lines: Vec<&str> = prose.lines().collect();
        let is_broken = |pair: &&[&str]| {
            let (line, next) = (pair[0], pair[1]);
            let indent = |line: &str| line.len() - line.trim_start().len();
            // An entry of a list has its description behind a gap.
            let is_prose = |line: &str| !line.trim().is_empty() && !line.trim().contains("  ");
            is_prose(line)
                && is_prose(next)
                && indent(line) == indent(next)
                && next.trim_start().starts_with(char::is_lowercase)
        };
        lines.windows(2).find(is_broken).map(|pair| pair[0])
    }

    #[test]
    fn help_leaves_the_breaking_of_lines_to_the_terminal() {
        assert_eq!(
            broken_line("The host\ntimes nothing."),
            Some("The host"),
            "the test finds what it looks for"
        );
        let mut command = Arguments::command().term_width(10_000);
        command.build();
        for benchmark in command.get_subcommands_mut() {
            let help = benchmark.render_long_help().to_string();
            assert_eq!(broken_line(&help), None, "{help}");
        }
    }
}
