use anyhow::anyhow;
use msb_sdk::{ChangeCounts, CommandRecord, ErrorKind, History, HistoryOptions, Sandbox};

use super::{Context, history};
use msb_terminal::failure::{Failure, Outcome, printable};
use msb_terminal::output::{self, Format};
use msb_terminal::table;

/// The number of a command's characters that a table shows.
const COMMAND_SHOWN: usize = 60;

// Arguments of `msb history`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "If NAME is a sandbox, its commands are listed, the oldest first: those of msb exec, msb exec -d \
    and the SDKs. SNAPSHOT is the state before the command, to which msb undo goes back. EXIT is - if the command \
    runs, or its end was not seen. Commands whose changes are no longer in the sandbox are marked as undone. The \
    last 5,000 to 10,000 commands are kept. -q prints only the numbers.\n\n\
    Otherwise NAME is an image. msb image history always means the image.\n\n\
    Examples:\n  \
    msb history work\n  \
    msb history --changes -n 10 work\n  \
    msb history --format json work | jq -r '.[] | select(.exit_code != 0).number'\n  \
    msb history python:3-slim"
)]
pub(crate) struct Arguments {
    /// Show whole commands and digests
    #[arg(long)]
    no_trunc: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Count the files that each command of a sandbox with a snapshot added, changed and deleted
    #[arg(long)]
    changes: bool,
    /// Number of the last commands of a sandbox to list
    #[arg(short = 'n', long, value_name = "COUNT")]
    last: Option<usize>,
    /// Ignored (docker compatibility): sizes and times are always human-readable
    #[arg(short = 'H', long, hide = true, num_args = 0..=1, require_equals = true, value_name = "BOOL")]
    human: Option<Option<bool>>,
    /// Sandbox, by name or id, or image, by name, digest or the beginning of a digest
    #[arg(value_name = "NAME")]
    name: String,
}

impl Arguments {
    /// Returns true if the disks of the sandbox are read.
    pub(crate) const fn reads_disks(&self) -> bool {
        self.changes
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let name = arguments.name.as_str();
    let sandbox = match context.msb.sandboxes().get(name).await {
        Ok(sandbox) if sandbox.name() == name || sandbox.id() == name => {
            return list(context, arguments, sandbox).await;
        }
        // The beginning of an id may be the name of an image.
        Ok(sandbox) => Some(sandbox),
        Err(error) if error.kind() == ErrorKind::SandboxNotFound => None,
        Err(error) => return Err(error.into()),
    };
    let steps = match (context.msb.images().history(name).await, sandbox) {
        (Ok(steps), _) => steps,
        (Err(error), sandbox) if error.kind() == ErrorKind::ImageNotFound => {
            if let Some(sandbox) = sandbox {
                return list(context, arguments, sandbox).await;
            }
            return Err(anyhow!("no such sandbox or image: {}", printable(name)).into());
        }
        (Err(error), _) => return Err(error.into()),
    };
    if arguments.changes || arguments.last.is_some() {
        let name = printable(name);
        let message = "which is an image: --changes and -n are for sandboxes";
        return Err(anyhow!("cannot list the commands of {name}, {message}").into());
    }
    history::print(context, &steps, arguments.format, arguments.no_trunc)
}

async fn list(context: &Context, arguments: &Arguments, sandbox: Sandbox) -> Outcome {
    let mut options = HistoryOptions::default();
    options.changes = arguments.changes;
    options.last = arguments.last;
    let history = sandbox.history_with(options).await?;
    if !context.quiet {
        for line in &history.damaged_lines {
            output::notice(&format!("a line of the history is damaged: '{line}'"));
        }
    }
    match arguments.format {
        Format::Json => output::print_json(&history.commands)?,
        Format::Table if context.quiet => print_numbers(&history)?,
        Format::Table => print_table(&history.commands, arguments)?,
    }
    Ok(0)
}

fn print_numbers(history: &History) -> Result<(), Failure> {
    let numbers = history.commands.iter();
    let lines: Vec<String> = numbers.map(|one| format!("{}\n", one.number)).collect();
    Ok(output::print(&lines.concat())?)
}

fn print_table(commands: &[CommandRecord], arguments: &Arguments) -> Result<(), Failure> {
    let width = (!arguments.no_trunc).then_some(COMMAND_SHOWN);
    let rows: Vec<[String; 7]> = commands.iter().map(|one| row(one, width)).collect();
    let header = [
        "NUMBER", "STARTED", "EXIT", "DURATION", "SNAPSHOT", "UNDONE", "COMMAND",
    ];
    if !arguments.changes {
        return Ok(table::print(header, &rows)?);
    }
    let with_changes = rows.into_iter().zip(commands).map(|(row, command)| {
        let [number, started, exit, duration, snapshot, undone, words] = row;
        let changes = changes(command.changes);
        [
            number, started, exit, duration, snapshot, undone, changes, words,
        ]
    });
    let header = [
        "NUMBER", "STARTED", "EXIT", "DURATION", "SNAPSHOT", "UNDONE", "CHANGES", "COMMAND",
    ];
    Ok(table::print(header, &with_changes.collect::<Vec<_>>())?)
}

/// Prints commands that are or would be undone, the newest first.
pub(super) fn print_undone(commands: &[CommandRecord]) -> Result<(), Failure> {
    let rows: Vec<[String; 7]> = commands
        .iter()
        .map(|one| row(one, Some(COMMAND_SHOWN)))
        .collect();
    let rows = rows.into_iter().map(|row| {
        let [number, started, exit, duration, snapshot, _, words] = row;
        [number, started, exit, duration, snapshot, words]
    });
    let header = [
        "NUMBER", "STARTED", "EXIT", "DURATION", "SNAPSHOT", "COMMAND",
    ];
    Ok(table::print(header, &rows.collect::<Vec<_>>())?)
}

/// Returns the row of a command, of which at most `width` characters are shown.
fn row(command: &CommandRecord, width: Option<usize>) -> [String; 7] {
    let unknown = || "-".to_owned();
    [
        command.number.to_string(),
        age(command).unwrap_or_else(unknown),
        command
            .exit_code
            .map_or_else(unknown, |code| code.to_string()),
        command.duration_ms.map_or_else(unknown, duration),
        command.snapshot.clone().unwrap_or_else(unknown),
        if command.undone { "yes" } else { "-" }.to_owned(),
        words(command, width),
    ]
}

/// Returns the words of a command on one line.
pub(super) fn words(command: &CommandRecord, width: Option<usize>) -> String {
    let mut words = printable(&command.argv.join(" "));
    if command.truncated {
        words.push('…');
    }
    match width {
        Some(width) => output::cut(&words, width),
        None => words,
    }
}

/// Returns the time since the start of a command; `None` if that is no time.
fn age(command: &CommandRecord) -> Option<String> {
    let started: jiff::Timestamp = command.started.parse().ok()?;
    let started_s = u64::try_from(started.as_second()).ok()?;
    let age_s = durable_files::now_s().saturating_sub(started_s);
    Some(output::human_age(age_s))
}

fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        _ => msb_terminal::option_values::Duration(ms / 1_000).to_string(),
    }
}

fn changes(counts: Option<ChangeCounts>) -> String {
    let Some(counts) = counts else {
        return "-".to_owned();
    };
    let letters = [
        ('A', counts.added),
        ('C', counts.changed),
        ('D', counts.deleted),
    ];
    let shown = letters.iter().filter(|(_, count)| *count > 0);
    let shown: Vec<String> = shown
        .map(|(letter, count)| format!("{letter}{count}"))
        .collect();
    if shown.is_empty() {
        return "none".to_owned();
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_changes_are_short() {
        let durations = [7, 1_250, 61_000, 3_600_000].map(duration);
        assert_eq!(durations, ["7ms", "1.2s", "1m1s", "1h"]);
        assert_eq!(changes(None), "-");
        assert_eq!(changes(Some(ChangeCounts::default())), "none");
    }
}
