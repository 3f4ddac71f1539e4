use std::io::{self, Write as _};

use anyhow::anyhow;
use jiff::Timestamp;
use msb_sdk::{LogOptions, LogRecord, LogSource, OutputStream};

use super::Context;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::log_lines;
use msb_terminal::option_values::{Moment, Tail};
use msb_terminal::output::Format;

// Arguments of `msb logs`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The command's standard output and standard error are printed to those of msb \
    logs. The oldest part of a long log is dropped.\n\n\
    The console has the messages of the guest's kernel and of msb's agent, and the machine log \
    those of the VMM and its process. Both begin at the last start, have no timestamps, and show \
    control characters as \\u{..}.\n\n\
    The log of the network has each connection and its end, refused destinations with the option that \
    allows them, and DNS queries with the codes of their answers. The sandbox cannot change it. Equal \
    refusals and queries within a second are one record with a count.\n\n\
    Examples:\n  \
    msb logs -f --tail 100 build\n  \
    msb logs --since 10m -t build\n  \
    msb logs --source console build\n  \
    msb logs --source network -f agent\n  \
    msb logs --source network --denied --format json agent\n  \
    msb logs --source asks --format json agent"
)]
pub(crate) struct Arguments {
    /// Follow the output until the sandbox has stopped
    #[arg(short, long)]
    follow: bool,
    /// Number of lines to show from the end of the log, or all
    #[arg(short = 'n', long, value_name = "LINES", default_value = "all")]
    tail: Tail,
    /// Show output since this time: 10m (ago), 2026-11-21 or 2026-11-21T10:00:00Z; a time without a
    /// zone is UTC
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Show only output before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Show the time of each line
    #[arg(short, long)]
    timestamps: bool,
    /// Log to print: the command's output, the guest's console, the machine's messages, the questions that
    /// msb-ask asked, or the connections of the sandbox
    #[arg(long, value_enum, default_value_t, value_name = "SOURCE")]
    source: Source,
    /// Show only refused connections and names; for --source network
    #[arg(long)]
    denied: bool,
    /// Output format; json is for --source asks and network
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Print the log of a job instead of the main command's
    #[arg(long, value_name = "NUMBER")]
    job: Option<u64>,
    /// Sandbox, by name or id
    sandbox: String,
}

/// The sources of lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Source {
    /// The sandbox's main command, or a job
    #[default]
    Output,
    /// The guest's console
    Console,
    /// The process that runs the machine
    Machine,
    /// The sandbox's questions and their answers
    Asks,
    /// The connections of the sandbox, refusals, and DNS queries
    Network,
}

impl Source {
    /// Returns true if its records are lines of JSON.
    const fn is_json(self) -> bool {
        matches!(self, Self::Asks | Self::Network)
    }
}

impl Arguments {
    fn options(&self) -> Result<LogOptions, Failure> {
        if self.timestamps && self.source != Source::Output {
            return Err(anyhow!("--timestamps can be used only with --source output").into());
        }
        if self.format == Format::Json && !self.source.is_json() {
            let message = "--format json can be used only with --source asks and --source network";
            return Err(anyhow!(message).into());
        }
        let mut options = LogOptions::default();
        options.follow = self.follow;
        options.tail = self.tail.0;
        options.source = match self.source {
            Source::Output => LogSource::Output,
            Source::Console => LogSource::Console,
            Source::Machine => LogSource::Machine,
            Source::Asks => LogSource::Asks,
            Source::Network => LogSource::Network,
        };
        options.denied = self.denied;
        options.job = self.job;
        options.since_ns = self.since.map(|moment| nanoseconds(moment.0));
        options.until_ns = self.until.map(|moment| nanoseconds(moment.0));
        Ok(options)
    }
}

/// Returns a time in nanoseconds since the epoch; 0 for an earlier one.
fn nanoseconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_nanosecond().max(0)).unwrap_or(u64::MAX)
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.handle(&arguments.sandbox).await?;
    let logs = sandbox.logs().with(arguments.options()?).await?;
    let mut printer = Printer {
        timestamps: arguments.timestamps,
        within_line: [false; 2],
    };
    while let Some(mut record) = logs.next().await? {
        if arguments.source.is_json() && arguments.format == Format::Table {
            let line = match arguments.source {
                Source::Network => log_lines::of_network(&record.data),
                _ => log_lines::of_asks(&record.data),
            };
            record.data = line?.into();
        }
        match printer.print(&record) {
            // A reader that closed the pipe wants no more.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
            other => other?,
        }
    }
    Ok(0)
}

/// The output of a log's records.
struct Printer {
    timestamps: bool,
    /// True if the last record of a stream did not end its line. Standard output comes first, then
    /// standard error.
    within_line: [bool; 2],
}

impl Printer {
    fn print(&mut self, record: &LogRecord) -> io::Result<()> {
        let mut line = Vec::new();
        let is_stderr = record.stream == Some(OutputStream::Stderr);
        let within_line = &mut self.within_line[usize::from(is_stderr)];
        if let Some(time_ns) = record.time_ns.filter(|_| self.timestamps && !*within_line) {
            let time = Timestamp::from_nanosecond(time_ns.into()).unwrap_or_default();
            write!(line, "{time:.9} ")?;
        }
        *within_line = !record.data.ends_with(b"\n");
        line.extend_from_slice(&record.data);
        if is_stderr {
            return io::stderr().lock().write_all(&line);
        }
        let mut out = io::stdout().lock();
        out.write_all(&line)?;
        out.flush()
    }
}
