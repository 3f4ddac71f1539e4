use std::io::{self, IsTerminal as _};
use std::time::Duration;

use anyhow::anyhow;
use msb_runtime::{GuestStats, HostStats, ReachError, Sandbox, State, Stats};
use serde::Serialize;
use tokio::time::sleep;

use super::Context;
use crate::failure::{Failure, Outcome, printable};
use crate::output::{self, Format};

/// How long after each other a sandbox is looked at.
const INTERVAL: Duration = Duration::from_secs(1);
/// What a terminal takes for: go to the first line, and clear all from there.
const CLEAR: &str = "\x1b[H\x1b[J";
/// What stands where nothing is known.
const UNKNOWN: &str = "--";

/// Arguments of `msb stats`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "CPU %, HOST MEM and DISK are what the sandbox takes of this host: 100% is one processor. MEM \
    USAGE, NET I/O, BLOCK I/O and PIDS are what its guest says of itself since its start; a guest can \
    lie. JSON has both, an array with an object for each sandbox: on one line each second, or once and \
    indented with --no-stream.\n\n\
    Examples:\n  \
    msb stats\n  \
    msb stats --no-stream --format json work"
)]
pub(crate) struct Arguments {
    /// Print once and end
    #[arg(long)]
    no_stream: bool,
    /// How to print them
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Sandboxes, by name or id [default: all that run]
    #[arg(value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut before = look(context, &arguments.sandboxes).await?;
    if arguments.sandboxes.is_empty() && before.is_empty() && arguments.no_stream {
        print(arguments, &[])?;
        return Ok(0);
    }
    loop {
        sleep(INTERVAL).await;
        let now = look(context, &arguments.sandboxes).await?;
        let rows: Vec<Row> = now.iter().map(|seen| Row::of(seen, &before)).collect();
        print(arguments, &rows)?;
        if arguments.no_stream {
            return Ok(0);
        }
        before = now;
    }
}

/// A sandbox, and what it took when it was looked at.
struct Seen {
    sandbox: Sandbox,
    stats: Stats,
}

/// Looks at all sandboxes at once. Of those that nobody named, one that has just ended is left out.
async fn look(context: &Context, names: &[String]) -> Result<Vec<Seen>, Failure> {
    let sandboxes = if names.is_empty() {
        running(context)?
    } else {
        let named = names.iter().map(|name| context.sandbox(name));
        named.collect::<Result<_, _>>()?
    };
    let looks: Vec<_> = sandboxes
        .into_iter()
        .map(|sandbox| {
            tokio::spawn(async move {
                let stats = sandbox.stats().await;
                (sandbox, stats)
            })
        })
        .collect();
    let mut seen = Vec::new();
    for look in looks {
        match look
            .await
            .map_err(|_| anyhow!("looking at a sandbox failed"))?
        {
            (sandbox, Ok(stats)) => seen.push(Seen { sandbox, stats }),
            (_, Err(ReachError::NotRunning { .. } | ReachError::Starting { .. }))
                if names.is_empty() => {}
            (_, Err(error)) => return Err(error.into()),
        }
    }
    Ok(seen)
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

/// What is printed of a sandbox.
#[derive(Debug, Serialize)]
struct Row {
    id: String,
    name: String,
    /// Of one of the host's processors, over the last second.
    cpu_percent: f64,
    /// What the sandbox was given.
    memory_limit_bytes: u64,
    /// What its writable disk takes on the host.
    upper_allocated_bytes: u64,
    /// How large that disk looks in the guest.
    upper_size_bytes: u64,
    host: HostStats,
    guest: Option<GuestStats>,
    /// Why the guest said nothing.
    guest_error: Option<String>,
}

impl Row {
    fn of(seen: &Seen, before: &[Seen]) -> Self {
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
            memory_limit_bytes: u64::from(spec.memory_mib) << 20,
            upper_allocated_bytes: seen.stats.upper_allocated_bytes,
            upper_size_bytes: spec.upper_bytes,
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

fn print(arguments: &Arguments, rows: &[Row]) -> Result<(), Failure> {
    match arguments.format {
        Format::Json if arguments.no_stream => output::print_json(&rows)?,
        Format::Json => output::print(&format!("{}\n", serde_json::to_string(rows)?))?,
        Format::Table => print_table(arguments, rows)?,
    }
    Ok(())
}

fn print_table(arguments: &Arguments, rows: &[Row]) -> io::Result<()> {
    if !arguments.no_stream && io::stdout().is_terminal() {
        output::print(CLEAR)?;
    }
    let cells: Vec<_> = rows.iter().map(Row::cells).collect();
    output::print_table(
        [
            "NAME",
            "CPU %",
            "MEM USAGE / LIMIT",
            "HOST MEM",
            "NET I/O",
            "BLOCK I/O",
            "PIDS",
            "DISK",
        ],
        &cells,
    )?;
    for row in rows {
        if let Some(error) = &row.guest_error {
            output::notice(&format!("{}: {error}", row.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

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
        }
    }

    #[test]
    fn percents_are_of_one_processor() {
        let start = Instant::now();
        let later = start + Duration::from_secs(2);
        let percent = |before, now| cpu_percent(&stats(start, before), &stats(later, now));
        assert!((percent(0, 3_000_000) - 150.0).abs() < 0.01);
        // A process of its group has gone.
        assert!(percent(5, 0).abs() < 0.01);
        assert!(cpu_percent(&stats(start, 0), &stats(start, 9)).abs() < 0.01);
    }
}
