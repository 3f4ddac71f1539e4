use super::Context;
use msb_terminal::confirm::confirmed;
use msb_terminal::failure::{Failure, Failures, Outcome};
use msb_terminal::output;
use msb_terminal::sandbox_filter::{Filter, filter};

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

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let names = not_running(context, &arguments.filter).await?;
    if names.is_empty() || !arguments.force && !confirmed(&consequence(&names))? {
        return Ok(0);
    }
    remove(context, names).await
}

/// Returns the names of the sandboxes that are not running and that pass all filters.
pub(super) async fn not_running(
    context: &Context,
    filters: &[Filter],
) -> Result<Vec<String>, Failure> {
    let passing = context.msb.sandboxes().list(filter(filters)).await?;
    let passing = passing.into_iter();
    let not_running = passing.filter(|info| !info.state.is_up());
    Ok(not_running.map(|info| info.name).collect())
}

fn consequence(names: &[String]) -> String {
    format!(
        "This removes every sandbox that is not running, and the files that it wrote: {}.",
        names.join(", ")
    )
}

/// Removes the sandboxes that are still not running, and prints the name of each that was removed.
pub(super) async fn remove(context: &Context, names: Vec<String>) -> Outcome {
    let mut failures = Failures::default();
    let mut freed_bytes = 0;
    for removal in context.msb.sandboxes().remove_stopped(names).await? {
        if let Some(size_bytes) = failures.note(removal.freed_bytes) {
            freed_bytes += size_bytes;
            output::print(&format!("{}\n", removal.name))?;
        }
    }
    let freed = output::human_size(freed_bytes);
    output::print(&format!("{freed} reclaimed from sandboxes\n"))?;
    Ok(failures.code)
}
