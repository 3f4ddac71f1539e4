use std::collections::BTreeMap;

use msb_sdk::{EndReason, Exit, SandboxCondition, SandboxInfo, SandboxState};
use serde::Serialize;
use serde_json::{Value, json};

use super::Context;
use msb_terminal::failure::{Failure, Outcome, printable};
use msb_terminal::output;
use msb_terminal::sandbox_filter::{Filter, filter};
use msb_terminal::table::{Elastic, Table};
use msb_terminal::template::{ListingFormat, fields};

/// The number of a command's characters that a table shows, as in Docker.
const COMMAND_SHOWN: usize = 20;
/// The columns that give way on a narrow terminal. Those that are left out first stand first.
const ELASTIC: [Elastic; 4] = [
    Elastic::whole("CREATED"),
    Elastic::cut("COMMAND"),
    Elastic::cut("PORTS"),
    Elastic::cut("IMAGE"),
];

// Arguments of `msb ps` and `msb ls`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Filters: name=REGEX (matches any part), id=PREFIX, \
    status=created|running|paused|stopped|unreadable, exited=CODE, label=KEY[=VALUE], image=NAME. \
    Of several filters of one kind, one must match. -q prints only ids.\n\n\
    A template prints a line for each sandbox: {{.ID}}, {{.Names}}, {{.Image}}, {{.Command}}, \
    {{.Status}}, {{.State}}, {{.Ports}}, {{.Labels}}, {{.Size}}, {{.CreatedAt}}, {{.RunningFor}}, \
    the keys of JSON, and {{json .}}.\n\n\
    Examples:\n  \
    msb ps -a --filter label=job=7 --format json\n  \
    msb ps --format 'table {{.Names}}\\t{{.Status}}'")]
pub(crate) struct Arguments {
    /// Show all sandboxes, not only running ones
    #[arg(short, long)]
    all: bool,
    /// Show only the latest sandbox, running or not
    #[arg(short, long)]
    latest: bool,
    /// Show only the latest COUNT sandboxes, running or not
    #[arg(short = 'n', long, value_name = "COUNT", conflicts_with = "latest")]
    last: Option<usize>,
    /// Show only sandboxes that match
    #[arg(short, long, value_name = "KEY=VALUE")]
    filter: Vec<Filter>,
    /// Show the space of writable disks, snapshots and logs
    #[arg(short, long)]
    size: bool,
    /// Show whole commands and every column, even if the terminal is too narrow
    #[arg(long)]
    no_trunc: bool,
    /// Output format: table, json, or a template such as '{{.Names}}'
    #[arg(long, default_value = "table")]
    format: ListingFormat,
}

#[derive(Serialize)]
struct Row {
    id: String,
    name: String,
    image: String,
    image_digest: String,
    /// The disk image that the root is; `null` if the sandbox has an image.
    root_disk: Value,
    /// True if the root is an ext4 with the image's files instead of an overlay.
    native_root: bool,
    command: Vec<String>,
    /// The time of creation, in seconds since the epoch.
    created_s: u64,
    labels: BTreeMap<String, String>,
    /// Published ports, as `-p` takes them.
    ports: Vec<String>,
    /// Space that the writable disk uses on the host, in bytes.
    allocated_bytes: Option<u64>,
    state: SandboxState,
    /// The time of the last start, in seconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<Exit>,
    /// Failures of disks, one line for each disk.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disk_errors: Vec<String>,
    /// The reason that the description cannot be read, or the damage of a record whose copy is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let wants_stopped = arguments.filter.iter().any(Filter::is_of_state);
    list(context, arguments, arguments.all || wants_stopped).await
}

/// Lists all sandboxes, running or not.
pub(crate) async fn run_all(context: &Context, arguments: &Arguments) -> Outcome {
    list(context, arguments, true).await
}

async fn list(context: &Context, arguments: &Arguments, all: bool) -> Outcome {
    let last = arguments.last.or(arguments.latest.then_some(1));
    let mut wanted = filter(&arguments.filter);
    if !all && last.is_none() {
        // One that cannot be read may be running.
        for state in [
            SandboxState::Running,
            SandboxState::Paused,
            SandboxState::Unreadable,
        ] {
            wanted = wanted.condition(SandboxCondition::State(Some(state)));
        }
    }
    let infos = context.msb.sandboxes().list(wanted).await?;
    let rows = infos.into_iter().map(Row::new);
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    // The rows are sorted from the oldest to the newest.
    let rows = match last {
        Some(count) => &rows[rows.len().saturating_sub(count)..],
        None => &rows,
    };
    print(context, arguments, rows)?;
    Ok(0)
}

impl Row {
    fn new(info: SandboxInfo) -> Result<Self, msb_sdk::Error> {
        Ok(Self {
            command: info.main_command()?.argv,
            ports: info.ports.iter().map(ToString::to_string).collect(),
            id: info.id,
            name: info.name,
            image: info.image,
            image_digest: info.image_digest,
            root_disk: info.rest.get("root_disk").cloned().unwrap_or_default(),
            native_root: info.rest.get("native_root") == Some(&Value::Bool(true)),
            created_s: info.created_s,
            labels: info.labels,
            allocated_bytes: info.allocated_bytes,
            state: info.state,
            started_s: info.started_s,
            exit: info.exit.map(without_signal),
            disk_errors: info.disk_errors,
            problem: info.problem,
        })
    }
}

/// Returns an exit without its signal, which the code contains.
pub(super) fn without_signal(mut exit: Exit) -> Exit {
    exit.signal = None;
    exit
}

fn print(context: &Context, arguments: &Arguments, rows: &[Row]) -> Result<(), Failure> {
    match &arguments.format {
        ListingFormat::Json => output::print_json(&rows)?,
        ListingFormat::Template(template) => {
            let rows = rows.iter().map(|row| fields(row, docker_names(row)));
            let rows = rows.collect::<Result<Vec<_>, _>>()?;
            template.print(&rows)?;
        }
        ListingFormat::Table if context.quiet => print_ids(rows)?,
        ListingFormat::Table => {
            print_table(arguments, rows)?;
            print_problems(rows);
        }
    }
    Ok(())
}

/// Prints a notice for each failed disk and each damaged record, because the table's column of states has
/// no room for it.
fn print_problems(rows: &[Row]) {
    for row in rows {
        for message in row.disk_errors.iter().chain(&row.problem) {
            output::notice(&format!("{}: {}", row.name, printable(message)));
        }
    }
}

fn print_ids(rows: &[Row]) -> std::io::Result<()> {
    let lines: String = rows.iter().map(|row| format!("{}\n", row.id)).collect();
    output::print(&lines)
}

fn print_table(arguments: &Arguments, rows: &[Row]) -> std::io::Result<()> {
    let table = table(arguments, rows, durable_files::now_s());
    output::print(&if arguments.no_trunc {
        table.whole()
    } else {
        table.for_stdout(&ELASTIC)
    })
}

fn table(arguments: &Arguments, rows: &[Row], now_s: u64) -> Table {
    let mut header = vec![
        "SANDBOX ID",
        "IMAGE",
        "COMMAND",
        "CREATED",
        "STATUS",
        "PORTS",
        "NAME",
    ];
    header.extend(arguments.size.then_some("SIZE"));
    let cells = rows.iter().map(|row| {
        let command = row.command.join(" ");
        let mut cells = vec![
            row.id.clone(),
            row.image.clone(),
            if arguments.no_trunc {
                command
            } else {
                output::cut(&command, COMMAND_SHOWN)
            },
            output::human_age(now_s.saturating_sub(row.created_s)),
            row.status(now_s),
            row.ports.join(", "),
            row.name.clone(),
        ];
        cells.extend(arguments.size.then(|| size(row)));
        cells
    });
    let cells: Vec<Vec<String>> = cells.collect();
    Table::new(&header, cells.iter().map(Vec::as_slice))
}

impl Row {
    /// Formats the status as `docker ps` does.
    fn status(&self, now_s: u64) -> String {
        let ago = |time_s: u64| output::human_age(now_s.saturating_sub(time_s));
        match (self.state, &self.exit) {
            (SandboxState::Created, _) => "Created".to_owned(),
            (SandboxState::Running | SandboxState::Paused, _) => {
                let since = self.started_s.map(ago).unwrap_or_default();
                let failed = if self.disk_errors.is_empty() {
                    ""
                } else {
                    " (disk errors)"
                };
                let paused = if self.state == SandboxState::Paused {
                    " (Paused)"
                } else {
                    ""
                };
                format!("Up {}{paused}{failed}", since.trim_end_matches(" ago"))
            }
            (_, Some(exit)) => {
                let ended = exit.ended_s.map(|ended_s| format!(" {}", ago(ended_s)));
                let reason = exit.reason.map(|reason| format!(": {}", limit(reason)));
                let (ended, reason) = (ended.unwrap_or_default(), reason.unwrap_or_default());
                format!("Exited ({}){ended}{reason}", exit.code)
            }
            (SandboxState::Unreadable, _) => "Unreadable".to_owned(),
            (_, None) => "Stopped".to_owned(),
        }
    }
}

fn size(row: &Row) -> String {
    row.allocated_bytes
        .map(output::human_size)
        .unwrap_or_default()
}

/// Returns a row's fields under the names of Docker's templates.
fn docker_names(row: &Row) -> Value {
    let now_s = durable_files::now_s();
    let labels = row.labels.iter();
    let labels: Vec<String> = labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    json!({
        "ID": row.id,
        "Names": row.name,
        "Image": row.image,
        "Command": row.command.join(" "),
        "CreatedAt": output::time(row.created_s),
        "RunningFor": output::human_age(now_s.saturating_sub(row.created_s)),
        "Status": row.status(now_s),
        "State": state(row.state),
        "Ports": row.ports.join(", "),
        "Labels": labels.join(","),
        "Size": size(row),
    })
}

/// Returns Docker's word for a state.
pub(super) const fn state(state: SandboxState) -> &'static str {
    match state {
        SandboxState::Created => "created",
        SandboxState::Running => "running",
        SandboxState::Paused => "paused",
        // Docker's word for a container that it can only remove.
        SandboxState::Unreadable => "dead",
        _ => "exited",
    }
}

/// Returns the limit that ended a sandbox, as the name of the option that sets it.
const fn limit(reason: EndReason) -> &'static str {
    match reason {
        EndReason::MaxDuration => "max-duration",
        EndReason::IdleTimeout => "idle-timeout",
        _ => "limit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn running_row() -> Row {
        Row {
            id: "0123456789ab".to_owned(),
            name: "web".to_owned(),
            image: "python:3-slim".to_owned(),
            image_digest: String::new(),
            root_disk: Value::Null,
            native_root: false,
            command: ["python3", "-m", "http.server", "8000"]
                .map(str::to_owned)
                .to_vec(),
            created_s: 70,
            labels: BTreeMap::new(),
            ports: vec!["127.0.0.1:8080:8000/tcp".to_owned()],
            allocated_bytes: Some(1_500),
            state: SandboxState::Running,
            started_s: Some(80),
            exit: None,
            disk_errors: Vec::new(),
            problem: None,
        }
    }

    #[test]
    fn rows_fit_into_80_columns_of_a_terminal_and_are_whole_elsewhere() {
        let formatted = |words: &[&str], width: Option<usize>| {
            let line = [&["ps"], words].concat();
            let line = <Line as clap::Parser>::try_parse_from(line).expect("options");
            let table = table(&line.arguments, &[running_row()], 100);
            match width {
                Some(width) => table.within(width, &ELASTIC),
                None => table.whole(),
            }
        };
        for words in [&[][..], &["-s"], &["--no-trunc"]] {
            let narrow = formatted(words, Some(80));
            assert!(
                narrow.lines().all(|line| line.chars().count() <= 80),
                "{narrow}"
            );
            for kept in ["0123456789ab", "python:3-slim", "Up 20 seconds", "web"] {
                assert!(narrow.contains(kept), "{narrow}");
            }
        }
        let whole = formatted(&[], None);
        assert!(whole.contains("127.0.0.1:8080:8000/tcp"), "{whole}");
        assert!(whole.contains("30 seconds ago"), "{whole}");
        assert!(!whole.contains("8000   "), "{whole}");
        let whole = formatted(&["--no-trunc"], None);
        assert!(whole.contains("python3 -m http.server 8000"), "{whole}");
    }

    #[test]
    fn a_status_says_that_a_disk_has_failed() {
        let mut row = running_row();
        row.started_s = Some(40);
        assert_eq!(row.status(100), "Up 1 minute");
        row.disk_errors = vec!["vda: I/O error".to_owned()];
        assert_eq!(row.status(100), "Up 1 minute (disk errors)");
    }

    #[test]
    fn a_status_says_which_limit_has_ended_a_sandbox() {
        let stopped = |reason: Option<EndReason>, ended_s: Option<u64>| {
            let exit = json!({"code": 124, "reason": reason, "ended_s": ended_s});
            let row = Row {
                state: SandboxState::Stopped,
                started_s: None,
                exit: Some(serde_json::from_value(exit).expect("an exit")),
                ..running_row()
            };
            row.status(100)
        };
        assert_eq!(stopped(None, None), "Exited (124)");
        assert_eq!(stopped(None, Some(90)), "Exited (124) 10 seconds ago");
        assert_eq!(
            stopped(Some(EndReason::MaxDuration), Some(90)),
            "Exited (124) 10 seconds ago: max-duration"
        );
        assert_eq!(
            stopped(Some(EndReason::IdleTimeout), None),
            "Exited (124): idle-timeout"
        );
    }
}
