use std::collections::BTreeMap;
use std::str::FromStr;

use msb_runtime::{Condition, Sandbox, State};
use serde::Serialize;

use super::Context;
use crate::failure::Outcome;
use crate::output::{self, Format};
use crate::words::Label;

// Arguments of `msb ps` and `msb ls`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Filters: name=TEXT (a part of it), status=created|running|stopped, label=KEY[=VALUE], \
    image=NAME. Of several filters of one kind, one must match. -q prints only ids.\n\n\
    Examples:\n  msb ps -a --filter label=job=7 --format json"
)]
pub(crate) struct Arguments {
    /// Show all sandboxes, not only those that run
    #[arg(short, long)]
    all: bool,
    /// Show only sandboxes that match
    #[arg(short, long, value_name = "KEY=VALUE")]
    filter: Vec<Filter>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What a listed sandbox must be.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Filter {
    Name(String),
    Status(State),
    Label(Label),
    Image(String),
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        match key {
            "name" => Ok(Self::Name(value.to_owned())),
            "label" => Ok(Self::Label(value.parse()?)),
            "image" | "ancestor" => Ok(Self::Image(value.to_owned())),
            "status" => match value {
                "created" => Ok(Self::Status(State::Created)),
                "running" => Ok(Self::Status(State::Running)),
                "stopped" | "exited" => Ok(Self::Status(State::Stopped)),
                _ => Err(format!("no status '{value}': created, running, stopped")),
            },
            _ => Err(format!("no filter '{key}': name, status, label, image")),
        }
    }
}

impl Filter {
    fn holds(&self, sandbox: &Sandbox, state: State) -> bool {
        let spec = &sandbox.spec;
        match self {
            Self::Name(part) => spec.name.contains(part),
            Self::Status(wanted) => state == *wanted,
            Self::Image(name) => spec.image == *name || spec.image_digest == *name,
            Self::Label(Label { key, value }) => spec
                .labels
                .get(key)
                .is_some_and(|actual| value.as_ref().is_none_or(|wanted| actual == wanted)),
        }
    }
}

#[derive(Serialize)]
struct Row {
    id: String,
    name: String,
    image: String,
    image_digest: String,
    command: Vec<String>,
    /// Seconds since the epoch.
    created_s: u64,
    labels: BTreeMap<String, String>,
    /// Published ones, as `-p` takes them.
    ports: Vec<String>,
    #[serde(flatten)]
    condition: Condition,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let wants_status = arguments
        .filter
        .iter()
        .any(|filter| matches!(filter, Filter::Status(_)));
    list(context, arguments, arguments.all || wants_status)
}

/// The same with all sandboxes.
pub(crate) fn run_all(context: &Context, arguments: &Arguments) -> Outcome {
    list(context, arguments, true)
}

fn list(context: &Context, arguments: &Arguments, all: bool) -> Outcome {
    let mut rows = Vec::new();
    for sandbox in Sandbox::all(&context.home)? {
        let condition = sandbox.condition()?;
        let state = condition.state;
        let is_wanted =
            (all || state == State::Running) && passes(&arguments.filter, &sandbox, state);
        if is_wanted {
            rows.push(row(sandbox, condition)?);
        }
    }
    match arguments.format {
        Format::Json => output::print_json(&rows)?,
        Format::Table if context.quiet => print_ids(&rows)?,
        Format::Table => print_table(&rows)?,
    }
    Ok(0)
}

/// Of filters of one kind, one must hold; but every label counts.
fn passes(filters: &[Filter], sandbox: &Sandbox, state: State) -> bool {
    filters.iter().all(|filter| {
        let is_label = matches!(filter, Filter::Label(_));
        let is_same_kind =
            |other: &&Filter| std::mem::discriminant(*other) == std::mem::discriminant(filter);
        filter.holds(sandbox, state)
            || !is_label
                && filters
                    .iter()
                    .filter(is_same_kind)
                    .any(|other| other.holds(sandbox, state))
    })
}

fn row(sandbox: Sandbox, condition: Condition) -> std::io::Result<Row> {
    let ports = sandbox.published()?;
    let ports = ports.iter().map(ToString::to_string).collect();
    let spec = sandbox.spec;
    Ok(Row {
        id: spec.id.to_string(),
        name: spec.name,
        image: spec.image,
        image_digest: spec.image_digest,
        command: spec.process.argv,
        created_s: spec.created_s,
        labels: spec.labels,
        ports,
        condition,
    })
}

fn print_ids(rows: &[Row]) -> std::io::Result<()> {
    let lines: String = rows.iter().map(|row| format!("{}\n", row.id)).collect();
    output::print(&lines)
}

fn print_table(rows: &[Row]) -> std::io::Result<()> {
    let now_s = output::now_s();
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            [
                row.id.clone(),
                row.image.clone(),
                row.command.join(" "),
                output::human_age(now_s.saturating_sub(row.created_s)),
                status(&row.condition, now_s),
                row.ports.join(", "),
                row.name.clone(),
            ]
        })
        .collect();
    output::print_table(
        [
            "SANDBOX ID",
            "IMAGE",
            "COMMAND",
            "CREATED",
            "STATUS",
            "PORTS",
            "NAME",
        ],
        &cells,
    )
}

/// As docker puts it.
fn status(condition: &Condition, now_s: u64) -> String {
    let ago = |time_s: u64| output::human_age(now_s.saturating_sub(time_s));
    match (condition.state, &condition.exit) {
        (State::Created, _) => "Created".to_owned(),
        (State::Running, _) => {
            let since = condition.started_s.map(ago).unwrap_or_default();
            format!("Up {}", since.trim_end_matches(" ago"))
        }
        (State::Stopped, Some(exit)) => match exit.ended_s {
            Some(ended_s) => format!("Exited ({}) {}", exit.code, ago(ended_s)),
            None => format!("Exited ({})", exit.code),
        },
        (State::Stopped, None) => "Stopped".to_owned(),
    }
}
