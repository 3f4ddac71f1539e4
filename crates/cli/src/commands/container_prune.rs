use msb_runtime::{RemoveError, Sandbox, State};

use super::Context;
use super::ps::{Filter, passes};
use crate::confirm::confirmed;
use crate::failure::{Failure, Failures, Outcome};
use crate::output;

// Arguments of `msb container prune`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Asks first unless --force is given. Running sandboxes are never removed. The filters are \
    those of msb ps.\n\n\
    Examples:\n  \
    msb container prune\n  \
    msb container prune --force --filter label=job=7"
)]
pub(crate) struct Arguments {
    /// Remove without asking
    #[arg(short, long)]
    force: bool,
    /// Remove only sandboxes that match
    #[arg(long, value_name = "KEY=VALUE")]
    filter: Vec<Filter>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    Sandbox::sweep(&context.home)?;
    let sandboxes = not_running(context, &arguments.filter)?;
    if sandboxes.is_empty() || !arguments.force && !confirmed(&consequence(&sandboxes))? {
        return Ok(0);
    }
    remove(sandboxes)
}

/// Returns the sandboxes that are not running and that pass all filters.
pub(super) fn not_running(context: &Context, filters: &[Filter]) -> Result<Vec<Sandbox>, Failure> {
    let mut found = Vec::new();
    for sandbox in Sandbox::all(&context.home)? {
        let state = sandbox.state()?;
        if state != State::Running && passes(filters, &sandbox, &sandbox.condition()?) {
            found.push(sandbox);
        }
    }
    Ok(found)
}

fn consequence(sandboxes: &[Sandbox]) -> String {
    let names: Vec<&str> = (sandboxes.iter().map(|sandbox| sandbox.spec.name.as_str())).collect();
    format!(
        "This removes every sandbox that is not running, and the files that it wrote: {}.",
        names.join(", ")
    )
}

/// Removes the sandboxes that are still not running, and prints the name of each that was removed.
pub(super) fn remove(sandboxes: Vec<Sandbox>) -> Outcome {
    let mut failures = Failures::default();
    let mut freed_bytes = 0;
    for sandbox in sandboxes {
        let name = sandbox.spec.name.clone();
        let size_bytes = sandbox.allocated_bytes().unwrap_or(0);
        match sandbox.remove() {
            // The sandbox was started meanwhile.
            Err(RemoveError::Running { .. }) => {}
            removed => {
                if failures.note(removed).is_some() {
                    freed_bytes += size_bytes;
                    output::print(&format!("{name}\n"))?;
                }
            }
        }
    }
    let freed = output::human_size(freed_bytes);
    output::print(&format!("{freed} reclaimed from sandboxes\n"))?;
    Ok(failures.code)
}
