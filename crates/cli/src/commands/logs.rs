use std::io::{self, Write as _};
use std::time::Duration;

use anyhow::anyhow;
use jiff::Timestamp;
use msb_runtime::{LogReader, LogRecord, LogStream, Sandbox, State};

use super::{Context, jobs, text_log};
use crate::failure::{Failure, Outcome};
use crate::last_of::last_of;

/// How often a log that is followed is looked at.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(50);

// Arguments of `msb logs`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "What the command printed on standard output and standard error comes out of msb's own. \
    Of a long log, the oldest part is gone.\n\n\
    The console is what the guest's kernel and msb's agent in it say, the machine what its process and \
    the VMM say; both since the last start, without times, control characters shown as \\u{..}.\n\n\
    Examples:\n  msb logs -f --tail 100 build\n  msb logs --source console build"
)]
pub(crate) struct Arguments {
    /// Go on until the sandbox has stopped
    #[arg(short, long)]
    follow: bool,
    /// Begin with so many lines from the end
    #[arg(short = 'n', long, value_name = "LINES")]
    tail: Option<usize>,
    /// Begin with what came at this time or later, as 2026-11-21T10:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Show when each line came
    #[arg(short, long)]
    timestamps: bool,
    /// What to print: what the command printed, the guest's console, the machine's messages
    #[arg(long, value_enum, default_value_t, value_name = "SOURCE")]
    source: Source,
    /// Of a job, instead of the sandbox's first command
    #[arg(long, value_name = "NUMBER")]
    job: Option<u64>,
    /// Sandbox, by name or id
    sandbox: String,
}

/// Where lines come from.
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
        if arguments.since.is_some() || arguments.timestamps || arguments.job.is_some() {
            return Err(anyhow!("--since, --timestamps and --job are for --source output").into());
        }
        return text_log::print(&sandbox, log, arguments.tail, arguments.follow).await;
    }
    let mut log = Log {
        reader: match arguments.job {
            Some(id) => job_output(&sandbox, id)?,
            None => sandbox.output()?,
        },
        since: arguments.since,
        printer: Printer {
            timestamps: arguments.timestamps,
            within_line: [false; 2],
        },
    };
    let printed = match arguments.tail {
        Some(lines) => log.print_tail(lines),
        None => log.print_rest(),
    };
    let followed = match printed {
        Ok(()) if arguments.follow => log.follow(&sandbox, arguments.job).await,
        other => other,
    };
    match followed {
        // A reader that went away wants no more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        other => other.map(|()| 0).map_err(Into::into),
    }
}

/// A sandbox's log, on its way to the user.
struct Log {
    reader: LogReader,
    since: Option<Timestamp>,
    printer: Printer,
}

impl Log {
    async fn follow(&mut self, sandbox: &Sandbox, job: Option<u64>) -> io::Result<()> {
        loop {
            // Asked first: what was printed last is there once it is over.
            let goes_on = match job {
                Some(id) => sandbox.job(id)?.is_some_and(|job| job.running),
                None => sandbox.state()? == State::Running,
            };
            self.print_rest()?;
            if !goes_on {
                return Ok(());
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    fn print_rest(&mut self) -> io::Result<()> {
        while let Some(record) = self.wanted()? {
            self.printer.print(&record)?;
        }
        Ok(())
    }

    /// Keeps the last lines in memory, which a log of bounded length bounds.
    fn print_tail(&mut self, lines: usize) -> io::Result<()> {
        let kept = last_of(lines, || self.wanted())?;
        kept.iter()
            .try_for_each(|record| self.printer.print(record))
    }

    /// The next record that is not too old.
    fn wanted(&mut self) -> io::Result<Option<LogRecord>> {
        loop {
            match self.reader.next_record()? {
                Some(record) if self.since.is_some_and(|since| time(&record) < since) => {}
                other => return Ok(other),
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

/// Where records go.
struct Printer {
    timestamps: bool,
    /// Whether standard output and standard error stand within a line.
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
