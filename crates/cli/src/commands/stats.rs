use std::io::{self, IsTerminal as _};
use std::time::Duration;

use msb_sdk::{ErrorKind, Sandbox, Stats, StatsSample};
use tokio::time::sleep;

use super::Context;
use msb_terminal::failure::{Failure, Failures, Outcome};
use msb_terminal::table::{Elastic, Table};
use msb_terminal::{open_metrics, output};

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
    --no-stream. openmetrics is for a scraper such as Prometheus, and is printed once. It has the flows, \
    refusals and bytes of the network, too, which a guest cannot forge.\n\n\
    A sandbox that ends is no longer shown; when all named sandboxes have ended, msb stats ends.\n\n\
    Examples:\n  \
    msb stats\n  \
    msb stats --no-stream --format json work\n  \
    msb stats --format openmetrics > msb.metrics"
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
    format: StatsFormat,
    /// Sandboxes, by name or id [default: all running ones]
    #[arg(value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

/// The format of statistics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum StatsFormat {
    /// Columns, for people
    #[default]
    Table,
    /// JSON, for programs; keys are stable
    Json,
    /// The text format of OpenMetrics 1.0, once
    #[value(name = "openmetrics")]
    OpenMetrics,
}

impl Arguments {
    /// Returns true if one sample is printed.
    fn is_once(&self) -> bool {
        self.no_stream || self.format == StatsFormat::OpenMetrics
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut failures = Failures::default();
    let named = find(context, &arguments.sandboxes, &mut failures).await?;
    let sandboxes = context.msb.sandboxes();
    let mut before = sandboxes.sample_stats(named.as_deref()).await?;
    if let Some(named) = &named {
        print_failures(named, &mut before, &mut failures)?;
    }
    if before.is_empty() && (named.is_some() || arguments.is_once()) {
        if failures.code == 0 {
            print(arguments, &[])?;
        }
        return Ok(failures.code);
    }
    loop {
        sleep(INTERVAL).await;
        let now = sandboxes.sample_stats(named.as_deref()).await?;
        let is_read = print(arguments, &now.since(&before))?;
        for (name, error) in now.failures() {
            if error.kind() != ErrorKind::NotRunning {
                output::notice(&format!("{name}: {}", error.message()));
            }
        }
        let is_over = named.is_some() && now.is_empty();
        if arguments.is_once() || is_over || !is_read {
            return Ok(failures.code);
        }
        before = now;
    }
}

/// Returns the named sandboxes; `None` without names. A missing one is reported, and the others are
/// still shown.
async fn find(
    context: &Context,
    names: &[String],
    failures: &mut Failures,
) -> Result<Option<Vec<Sandbox>>, Failure> {
    let mut named = None;
    for name in names {
        let sandbox = context.handle(name).await;
        let found = match names.len() {
            1 => Some(sandbox?),
            _ => failures.note(sandbox),
        };
        named.get_or_insert_with(Vec::new).extend(found);
    }
    Ok(named)
}

/// Reports the named sandboxes that are not running at the first sample. A sandbox that ends later
/// is left out.
fn print_failures(
    named: &[Sandbox],
    sample: &mut StatsSample,
    failures: &mut Failures,
) -> Result<(), Failure> {
    for (_, error) in sample.take_failures() {
        if named.len() == 1 && failures.code == 0 {
            return Err(error.into());
        }
        failures.note(Err::<(), _>(error));
    }
    Ok(())
}

fn cells(stats: &Stats) -> [String; 8] {
    let guest = stats.guest.unwrap_or_default();
    let size = |bytes: Option<u64>| bytes.map_or(UNKNOWN.to_owned(), output::human_size);
    let pair = |left, right| format!("{} / {}", size(left), size(right));
    [
        stats.name.clone(),
        format!("{:.2}%", stats.cpu_percent),
        pair(guest.memory_used_bytes(), Some(stats.memory_limit_bytes)),
        output::human_size(stats.host.memory_bytes),
        pair(guest.network_received_bytes, guest.network_sent_bytes),
        pair(guest.disk_read_bytes, guest.disk_written_bytes),
        guest
            .tasks
            .map_or(UNKNOWN.to_owned(), |tasks| tasks.to_string()),
        output::human_size(stats.upper_allocated_bytes),
    ]
}

/// Prints the rows. Returns true if standard output still has a reader.
fn print(arguments: &Arguments, rows: &[Stats]) -> Result<bool, Failure> {
    let text = match arguments.format {
        StatsFormat::Json if arguments.no_stream => format!("{}\n", output::pretty_json(&rows)?),
        StatsFormat::Json => format!("{}\n", output::json_line(&rows)?),
        StatsFormat::OpenMetrics => open_metrics::exposition(rows),
        StatsFormat::Table => table(arguments, rows),
    };
    let is_read = output::offer_unescaped(&text)?;
    for row in rows {
        if let (StatsFormat::Table, Some(error)) = (arguments.format, &row.guest_error) {
            output::notice(&format!("{}: {error}", row.name));
        }
    }
    Ok(is_read)
}

fn table(arguments: &Arguments, rows: &[Stats]) -> String {
    let cells: Vec<_> = rows.iter().map(cells).collect();
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
    use super::*;

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
}
