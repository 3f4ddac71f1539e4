use msb_runtime::{Sandbox, State};
use serde::Serialize;

use super::Context;
use crate::failure::Outcome;
use crate::output::{self, Format};

/// Arguments of `msb ps`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Show stopped sandboxes too
    #[arg(short, long)]
    all: bool,
    /// How to print them
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct Row {
    id: String,
    name: String,
    image: String,
    image_digest: String,
    command: Vec<String>,
    created: u64,
    state: State,
    /// Published ones, as `-p` takes them.
    ports: Vec<String>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut rows = Vec::new();
    for sandbox in Sandbox::all(&context.home)? {
        let state = sandbox.state()?;
        if arguments.all || state == State::Running {
            rows.push(row(sandbox, state));
        }
    }
    match arguments.format {
        Format::Json => output::print_json(&rows)?,
        Format::Table => print_table(&rows)?,
    }
    Ok(0)
}

fn row(sandbox: Sandbox, state: State) -> Row {
    let spec = sandbox.spec;
    let network = spec.network.unwrap_or_default();
    let ports = network.publish.iter().map(ToString::to_string).collect();
    Row {
        id: spec.id.to_string(),
        name: spec.name,
        image: spec.image,
        image_digest: spec.image_digest,
        command: spec.command,
        created: spec.created_s,
        state,
        ports,
    }
}

fn print_table(rows: &[Row]) -> std::io::Result<()> {
    let now = output::now_s();
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            let state = if row.state == State::Running {
                "running"
            } else {
                "stopped"
            };
            [
                row.id.clone(),
                row.image.clone(),
                row.command.join(" "),
                output::human_age(now.saturating_sub(row.created)),
                state.to_owned(),
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
            "STATE",
            "PORTS",
            "NAME",
        ],
        &cells,
    )
}
