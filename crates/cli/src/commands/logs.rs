use std::io::{self, Write as _};
use std::time::Duration;

use anyhow::anyhow;
use jiff::Timestamp;
use msb_runtime::{LogReader, LogRecord, LogStream, Sandbox, State};

use super::{Context, jobs, text_log};
use crate::failure::{Failure, Outcome};
use crate::option_values::{Moment, Tail};
use crate::tail::last_items;

/// The interval at which a followed log is read.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(50);

// Arguments of `msb logs`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The command's standard output and standard error are printed on msb's own. Of a long log, \
    the oldest part is dropped.\n\n\
    The console has the messages of the guest's kernel and of msb's agent, the machine log those of the VMM \
    and its process; both begin at the last start, have no times, and show control characters as \\u{..}.\n\n\
    Examples:\n  \
    msb logs -f --tail 100 build\n  \
    msb logs --since 10m -t build\n  \
    msb logs --source console build"
)]
pub(crate) struct Arguments {
    /// Continue until the sandbox has stopped
    #[arg(short, long)]
    follow: bool,
    /// Number of lines from the end to begin with, or all
    #[arg(short = 'n', long, value_name = "LINES", default_value = "all")]
    tail: Tail,
    /// Begin with output of this time or later: 10m (ago), 2026-11-21 or 2026-11-21T10:00:00Z; a time
    /// without a zone is UTC
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// End with output before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Show the time of each line
    #[arg(short, long)]
    timestamps: bool,
    /// Log to print: the command's output, the guest's console, or the machine's messages
    #[arg(long, value_enum, default_value_t, value_name = "SOURCE")]
    source: Source,
    /// Print the log of a job instead of the main command's
    #[arg(long, value_name = "NUMBER")]
    job: Option<u64>,
    /// Sandbox, by name or id
    sandbox: String,
}

/// The sources of lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Source {
    /// The sandbox's first command, or a job
    #[default]
    Output,
    /// The guest's console
    Console,
    /// The process that the machine runs in
    Machine,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.sandbox(&arguments.sandbox)?;
    let text = match arguments.source {
        Source::Output => None,
        Source::Console => Some(sandbox.console()?),
        Source::Machine => Some(sandbox.machine_log()?),
    };
    if let Some(log) = text {
        let of_records = arguments.since.is_some() || arguments.until.is_some();
        if of_records || arguments.timestamps || arguments.job.is_some() {
            let options = "--since, --until, --timestamps and --job";
            return Err(anyhow!("{options} can be used only with --source output").into());
        }
        return text_log::print(&sandbox, log, arguments.tail.0, arguments.follow).await;
    }
    let mut log = Log {
        reader: match arguments.job {
            Some(id) => job_output(&sandbox, id)?,
            None => sandbox.output()?,
        },
        since: arguments.since.map(|moment| moment.0),
        until: arguments.until.map(|moment| moment.0),
        printer: Printer {
            timestamps: arguments.timestamps,
            within_line: [false; 2],
        },
    };
    let printed = match arguments.tail.0 {
        Some(lines) => log.print_tail(lines),
        None => log.print_rest(),
    };
    let followed = match printed {
        Ok(()) if arguments.follow => log.follow(&sandbox, arguments.job).await,
        other => other,
    };
    match followed {
        // A reader that closed the pipe wants no more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        other => other.map(|()| 0).map_err(Into::into),
    }
}

/// A sandbox's log while it is printed.
struct Log {
    reader: LogReader,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    printer: Printer,
}

impl Log {
    async fn follow(&mut self, sandbox: &Sandbox, job: Option<u64>) -> io::Result<()> {
        loop {
            // The state is read first, so that the last output is in the log once the command has
            // ended.
            let goes_on = match job {
                Some(id) => sandbox.job(id)?.is_some_and(|job| job.running),
                None => sandbox.state()? == State::Running,
            };
            self.print_rest()?;
            let is_over = self.until.is_some_and(|until| until <= Timestamp::now());
            if !goes_on || is_over {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn print_rest(&mut self) -> io::Result<()> {
        while let Some(record) = self.wanted()? {
            self.printer.print(&record)?;
        }
        Ok(())
    }

    /// Prints the last lines. They are kept in memory, which the bounded length of a log bounds.
    fn print_tail(&mut self, lines: usize) -> io::Result<()> {
        let kept = last_items(lines, || self.wanted())?;
        kept.iter()
            .try_for_each(|record| self.printer.print(record))
    }

    /// Returns the next record within the time range; `None` at the end of the log. A later record
    /// may be older, if the host's clock was set.
    fn wanted(&mut self) -> io::Result<Option<LogRecord>> {
        loop {
            let Some(record) = self.reader.next_record()? else {
                return Ok(None);
            };
            let time = time(&record);
            let is_too_old = self.since.is_some_and(|since| time < since);
            let is_too_new = self.until.is_some_and(|until| time >= until);
            if !is_too_old && !is_too_new {
                return Ok(Some(record));
            }
        }
    }
}

fn job_output(sandbox: &Sandbox, id: u64) -> Result<LogReader, Failure> {
    jobs::find(sandbox, id)?;
    Ok(sandbox.job_output(id)?)
}

fn time(record: &LogRecord) -> Timestamp {
    Timestamp::from_nanosecond(record.time_ns.into()).unwrap_or_default()
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
        let within_line = &mut self.within_line[usize::from(record.stream == LogStream::Stderr)];
        if self.timestamps && !*within_line {
            write!(line, "{:.9} ", time(record))?;
        }
        *within_line = !record.bytes.ends_with(b"\n");
        line.extend_from_slice(&record.bytes);
        match record.stream {
            LogStream::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(&line)?;
                out.flush()
            }
            LogStream::Stderr => io::stderr().lock().write_all(&line),
        }
    }
}
