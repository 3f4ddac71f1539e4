use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use msb_runtime::{ConnectError, GuestStats, HostProcesses, HostStats, Sandbox, State, Stats};
use serde::Serialize;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::Context;
use crate::failure::{Failure, Failures, Outcome, printable};
use crate::output::{self, Format};
use crate::table::{Elastic, Table};

/// The interval between two samples of a sandbox.
const INTERVAL: Duration = Duration::from_secs(1);
/// The control sequences that move the cursor to the first line and clear the screen below.
const CLEAR: &str = "\x1b[H\x1b[J";
/// The text in place of an unknown value.
const UNKNOWN: &str = "--";

/// The headings of the table.
const HEADER: [&str; 8] = [
    "NAME",
    "CPU %",
    "MEM USAGE / LIMIT",
    "HOST MEM",
    "NET I/O",
    "BLOCK I/O",
    "PIDS",
    "DISK",
];
/// The columns that a narrow terminal does not show, the first ones first.
const ELASTIC: [Elastic; 4] = [
    Elastic::whole("BLOCK I/O"),
    Elastic::whole("NET I/O"),
    Elastic::whole("DISK"),
    Elastic::whole("PIDS"),
];

// Arguments of `msb stats`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "CPU %, HOST MEM and DISK are measured on this host: 100% is one processor. MEM USAGE, NET \
    I/O, BLOCK I/O and PIDS are reported by the guest since its start, and a guest can lie. JSON has both, an \
    array with an object for each sandbox: on one line each second, or once and indented with \
    --no-stream.\n\n\
    A sandbox that ends is no longer shown; when all named sandboxes have ended, msb stats ends.\n\n\
    Examples:\n  \
    msb stats\n  \
    msb stats --no-stream --format json work"
)]
pub(crate) struct Arguments {
    /// Print one sample and end
    #[arg(long)]
    no_stream: bool,
    /// Show every column, even if the terminal is too narrow
    #[arg(long)]
    no_trunc: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Sandboxes, by name or id [default: all running ones]
    #[arg(value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut watched = Watched::find(context, &arguments.sandboxes)?;
    let mut before = watched.look().await?;
    watched.tell_failures(&mut before)?;
    if before.seen.is_empty() && (watched.named.is_some() || arguments.no_stream) {
        if watched.failures.code == 0 {
            print(arguments, &[])?;
        }
        return Ok(watched.failures.code);
    }
    loop {
        sleep(INTERVAL).await;
        let now = watched.look().await?;
        let rows: Vec<Row> = now
            .seen
            .iter()
            .map(|seen| Row::new(seen, &before.seen))
            .collect();
        let is_read = print(arguments, &rows)?;
        for (name, error) in now.failures.iter().filter(|(_, error)| !has_ended(error)) {
            output::notice(&format!("{name}: {}", printable(&error.to_string())));
        }
        let is_over = watched.named.is_some() && now.seen.is_empty();
        if arguments.no_stream || is_over || !is_read {
            return Ok(watched.failures.code);
        }
        before = now;
    }
}

/// The sandboxes whose statistics are shown.
struct Watched<'a> {
    context: &'a Context,
    /// The named sandboxes; `None` for all that are running.
    named: Option<Vec<Sandbox>>,
    /// Failures of the named sandboxes.
    failures: Failures,
}

/// A sandbox and a sample of its statistics.
struct Seen {
    sandbox: Sandbox,
    stats: Stats,
}

/// A sample of all sandboxes.
#[derive(Default)]
struct Look {
    seen: Vec<Seen>,
    /// The sandboxes that could not be sampled, by name.
    failures: Vec<(String, ConnectError)>,
}

impl<'a> Watched<'a> {
    /// Finds the named sandboxes. A missing one is reported, and the others are still shown.
    fn find(context: &'a Context, names: &[String]) -> Result<Self, Failure> {
        let mut watched = Self {
            context,
            named: None,
            failures: Failures::default(),
        };
        for name in names {
            let sandbox = context.sandbox(name);
            let found = match names.len() {
                1 => Some(sandbox?),
                _ => watched.failures.note(sandbox),
            };
            watched.named.get_or_insert_default().extend(found);
        }
        Ok(watched)
    }

    /// Samples all sandboxes at the same time.
    async fn look(&self) -> Result<Look, Failure> {
        let sandboxes = match &self.named {
            Some(named) => named.clone(),
            None => running(self.context)?,
        };
        let processes = spawn_blocking(HostProcesses::look).await;
        let processes = Arc::new(processes.map_err(|_| failed())?);
        let looks: Vec<_> = sandboxes
            .into_iter()
            .map(|sandbox| {
                let processes = Arc::clone(&processes);
                tokio::spawn(async move {
                    let stats = sandbox.stats(processes).await;
                    (sandbox, stats)
                })
            })
            .collect();
        let mut all = Look::default();
        for look in looks {
            match look.await.map_err(|_| failed())? {
                (sandbox, Ok(stats)) => all.seen.push(Seen { sandbox, stats }),
                (sandbox, Err(error)) => all.failures.push((sandbox.spec.name, error)),
            }
        }
        Ok(all)
    }

    /// Reports the named sandboxes that are not running at the first sample. A sandbox that ends
    /// later is left out.
    fn tell_failures(&mut self, look: &mut Look) -> Result<(), Failure> {
        let Some(named) = &self.named else {
            return Ok(());
        };
        for (_, error) in look.failures.drain(..) {
            if named.len() == 1 && self.failures.code == 0 {
                return Err(error.into());
            }
            self.failures.note(Err::<(), _>(error));
        }
        Ok(())
    }
}

fn has_ended(error: &ConnectError) -> bool {
    matches!(
        error,
        ConnectError::NotRunning { .. } | ConnectError::Starting { .. }
    )
}

fn failed() -> Failure {
    anyhow!("cannot sample a sandbox").into()
}

fn running(context: &Context) -> io::Result<Vec<Sandbox>> {
    let mut running = Vec::new();
    for sandbox in Sandbox::all(&context.home)? {
        if sandbox.state()? == State::Running {
            running.push(sandbox);
        }
    }
    Ok(running)
}

/// The statistics that are printed for a sandbox.
#[derive(Debug, Serialize)]
struct Row {
    id: String,
    name: String,
    /// Use of the host's processors over the last second; 100 is one processor.
    cpu_percent: f64,
    /// The guest's memory, in bytes.
    memory_limit_bytes: u64,
    /// Space that the writable disk uses on the host, in bytes.
    upper_allocated_bytes: u64,
    /// Size of the writable disk in the guest, in bytes.
    upper_size_bytes: u64,
    host: HostStats,
    guest: Option<GuestStats>,
    /// The reason why the guest has no statistics.
    guest_error: Option<String>,
}

impl Row {
    fn new(seen: &Seen, before: &[Seen]) -> Self {
        let spec = &seen.sandbox.spec;
        let earlier = before.iter().find(|other| other.sandbox.spec.id == spec.id);
        let (guest, guest_error) = match &seen.stats.guest {
            Ok(guest) => (Some(*guest), None),
            Err(error) => (None, Some(printable(error))),
        };
        Self {
            id: spec.id.to_string(),
            name: spec.name.clone(),
            cpu_percent: earlier.map_or(0.0, |earlier| cpu_percent(&earlier.stats, &seen.stats)),
            memory_limit_bytes: u64::from(seen.stats.machine.memory_mib) << 20,
            upper_allocated_bytes: seen.stats.upper_allocated_bytes,
            upper_size_bytes: seen.stats.machine.upper_bytes,
            host: seen.stats.host,
            guest,
            guest_error,
        }
    }

    fn cells(&self) -> [String; 8] {
        let guest = self.guest.unwrap_or_default();
        let size = |bytes: Option<u64>| bytes.map_or(UNKNOWN.to_owned(), output::human_size);
        let pair = |left, right| format!("{} / {}", size(left), size(right));
        [
            self.name.clone(),
            format!("{:.2}%", self.cpu_percent),
            pair(guest.memory_used_bytes(), Some(self.memory_limit_bytes)),
            output::human_size(self.host.memory_bytes),
            pair(guest.network_received_bytes, guest.network_sent_bytes),
            pair(guest.disk_read_bytes, guest.disk_written_bytes),
            guest
                .tasks
                .map_or(UNKNOWN.to_owned(), |tasks| tasks.to_string()),
            output::human_size(self.upper_allocated_bytes),
        ]
    }
}

fn cpu_percent(before: &Stats, now: &Stats) -> f64 {
    let elapsed = now.time.saturating_duration_since(before.time);
    let busy_us = now
        .host
        .processor_us
        .saturating_sub(before.host.processor_us);
    if elapsed.is_zero() {
        return 0.0;
    }
    let percent = 100.0 * Duration::from_micros(busy_us).as_secs_f64() / elapsed.as_secs_f64();
    (percent * 100.0).round() / 100.0
}

/// Prints the rows. Returns true if standard output still has a reader.
fn print(arguments: &Arguments, rows: &[Row]) -> Result<bool, Failure> {
    let text = match arguments.format {
        Format::Json if arguments.no_stream => format!("{}\n", serde_json::to_string_pretty(rows)?),
        Format::Json => format!("{}\n", serde_json::to_string(rows)?),
        Format::Table => table(arguments, rows),
    };
    let is_read = output::offer(&text)?;
    for row in rows {
        if let (Format::Table, Some(error)) = (arguments.format, &row.guest_error) {
            output::notice(&format!("{}: {error}", row.name));
        }
    }
    Ok(is_read)
}

fn table(arguments: &Arguments, rows: &[Row]) -> String {
    let cells: Vec<_> = rows.iter().map(Row::cells).collect();
    let table = Table::new(&HEADER, cells.iter().map(<[String; 8]>::as_slice));
    let table = if arguments.no_trunc {
        table.whole()
    } else {
        table.for_stdout(&ELASTIC)
    };
    if !arguments.no_stream && io::stdout().is_terminal() {
        format!("{CLEAR}{table}")
    } else {
        table
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use msb_runtime::Resources;

    use super::*;

    fn stats(time: Instant, processor_us: u64) -> Stats {
        Stats {
            time,
            host: HostStats {
                processor_us,
                ..HostStats::default()
            },
            guest: Err("silent".to_owned()),
            upper_allocated_bytes: 0,
            machine: Resources {
                cpus: 1,
                memory_mib: 64,
                upper_bytes: 0,
            },
        }
    }

    #[test]
    fn rows_fit_into_80_columns_of_a_terminal() {
        let cells = [
            "work",
            "100.00%",
            "73.4MB / 1.0GB",
            "210MB",
            "12.3kB / 45.6kB",
            "84.1MB / 12.0MB",
            "12",
            "81.9MB",
        ];
        let cells = cells.map(str::to_owned);
        let table = Table::new(&HEADER, std::iter::once(cells.as_slice()));
        assert!(table.whole().lines().all(|line| line.len() > 80));
        let narrow = table.within(80, &ELASTIC);
        assert!(narrow.lines().all(|line| line.len() <= 80), "{narrow}");
        for kept in ["work", "100.00%", "73.4MB / 1.0GB", "12.3kB / 45.6kB"] {
            assert!(narrow.contains(kept), "{narrow}");
        }
    }

    #[test]
    fn percents_are_of_one_processor() {
        let start = Instant::now();
        let later = start + Duration::from_secs(2);
        let percent = |before, now| cpu_percent(&stats(start, before), &stats(later, now));
        assert!((percent(0, 3_000_000) - 150.0).abs() < 0.01);
        // A process of the sandbox's process group has ended.
        assert!(percent(5, 0).abs() < 0.01);
        assert!(cpu_percent(&stats(start, 0), &stats(start, 9)).abs() < 0.01);
    }
}
