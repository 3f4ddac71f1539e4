use std::path::PathBuf;

use msb_runtime::{Condition, Resources, Sandbox, Spec, State};
use serde::Serialize;

use super::Context;
use crate::failure::Outcome;
use crate::output;

// Arguments of `msb inspect`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Prints a JSON array with an object for each sandbox; see msb image inspect for images.\n\n\
    Examples:\n  \
    msb inspect work\n  \
    msb inspect work | jq -r '.[0].state'"
)]
pub(crate) struct Arguments {
    /// Output format; there is only JSON
    #[arg(long, value_enum, default_value_t = InspectFormat::Json)]
    format: InspectFormat,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum InspectFormat {
    Json,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    spec: Spec,
    #[serde(flatten)]
    condition: Condition,
    /// What the machine that runs has: what the description says is for the next start.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<Resources>,
    /// Ports of the host that lead into it, as `-p` takes them, with those that the host has chosen.
    ports: Vec<String>,
    /// Where its files are.
    directory: PathBuf,
    /// What its writable disk takes on the host.
    allocated_bytes: Option<u64>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut reports = Vec::new();
    for name in &arguments.sandboxes {
        reports.push(report(context.sandbox(name)?)?);
    }
    output::print_json(&reports)?;
    Ok(0)
}

fn report(sandbox: Sandbox) -> std::io::Result<Report> {
    let condition = sandbox.condition()?;
    let is_running = condition.state == State::Running;
    let machine = is_running.then(|| sandbox.machine_resources());
    let ports = sandbox.published()?;
    Ok(Report {
        condition,
        machine: machine.flatten(),
        ports: ports.iter().map(ToString::to_string).collect(),
        directory: sandbox.directory().to_owned(),
        allocated_bytes: sandbox.allocated_bytes().ok(),
        spec: sandbox.spec,
    })
}
