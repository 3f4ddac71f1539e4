use std::time::Duration;

use msb_sdk::{SandboxFilter, SnapshotInfo};

use super::{full_name, split_named};
use crate::commands::Context;
use crate::commands::prune::parse_filter;
use crate::confirm::confirmed;
use crate::failure::{Failure, Failures, Outcome};
use crate::output;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The sandbox keeps its files. What neither they nor another snapshot need is given back to the host.\n\n\
    Examples:\n  msb snapshot rm work@clean work@2"
)]
pub(super) struct RemoveArguments {
    /// Snapshots
    #[arg(required = true, value_name = "SANDBOX@NAME")]
    snapshots: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A rollback keeps the files as they were before as a snapshot; these are removed. Then parts of the disks that no \
    snapshot needs apart any more are merged, which frees what was overwritten since; once there are many, msb also \
    does so in the background. The sandboxes keep their files. Without names, those that run are passed over.\n\n\
    Asks first unless --force is given; if there is no answer, it removes nothing and fails.\n\n\
    Examples:\n  \
    msb snapshot prune\n  \
    msb snapshot prune --force --filter until=24h work\n  \
    msb snapshot prune --all work"
)]
pub(super) struct PruneArguments {
    /// Remove every snapshot, not only those that rollbacks made
    #[arg(short, long)]
    all: bool,
    /// until=DURATION: only snapshots that were taken longer ago, such as 90m, 24h or 10d
    #[arg(long, value_name = "FILTER", value_parser = parse_filter)]
    filter: Option<Duration>,
    /// Remove without asking
    #[arg(short, long)]
    force: bool,
    /// Sandboxes, by name or id [default: all that are not running]
    #[arg(value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(super) async fn remove(context: &Context, arguments: &RemoveArguments) -> Outcome {
    let mut failures = Failures::default();
    for word in &arguments.snapshots {
        let (sandbox, name) = split_named(word)?;
        let sandbox = context.handle(sandbox).await?;
        match sandbox.snapshots().remove(name).await {
            Err(error) if arguments.snapshots.len() == 1 => return Err(error.into()),
            removed => {
                if failures.note(removed).is_some() {
                    output::print(&format!("{word}\n"))?;
                }
            }
        }
    }
    Ok(failures.code)
}

pub(super) async fn prune(context: &Context, arguments: &PruneArguments) -> Outcome {
    let mut failures = Failures::default();
    let mut chosen = Vec::new();
    let sandboxes = sandboxes(context, arguments).await?;
    for name in &sandboxes {
        let sandbox = context.handle(name).await?;
        let each = failures.note(sandbox.snapshots().list_each().await);
        let each = each.unwrap_or_default().into_iter();
        let readable = each.filter_map(|snapshot| failures.note(snapshot));
        chosen.extend(readable.filter(|snapshot| is_chosen(arguments, snapshot)));
    }
    if !chosen.is_empty() && !arguments.force && !confirmed(&consequence(&chosen))? {
        return Ok(failures.code);
    }
    for snapshot in &chosen {
        let sandbox = context.handle(&snapshot.sandbox).await?;
        let removed = sandbox.snapshots().remove(&snapshot.name).await;
        if failures.note(removed).is_some() {
            output::print(&format!("{}\n", full_name(snapshot)))?;
        }
    }
    let mut merged_bytes = 0;
    for name in &sandboxes {
        let sandbox = context.handle(name).await?;
        let merged = failures.note(sandbox.snapshots().merge().await);
        merged_bytes += merged.unwrap_or_default();
    }
    let merged = output::human_size(merged_bytes);
    output::print(&format!("{merged} reclaimed by merging\n"))?;
    Ok(failures.code)
}

/// Returns the sandboxes that are named; without names, all that are not running.
async fn sandboxes(context: &Context, arguments: &PruneArguments) -> Result<Vec<String>, Failure> {
    if !arguments.sandboxes.is_empty() {
        return Ok(arguments.sandboxes.clone());
    }
    let all = context.msb.sandboxes().list(SandboxFilter::all()).await?;
    let not_running = all.into_iter().filter(|info| !info.state.is_up());
    Ok(not_running.map(|info| info.id).collect())
}

fn is_chosen(arguments: &PruneArguments, snapshot: &SnapshotInfo) -> bool {
    let age_s = durable_files::now_s().saturating_sub(snapshot.created_s);
    let is_old = arguments
        .filter
        .is_none_or(|least_age| age_s >= least_age.as_secs());
    is_old && (arguments.all || snapshot.automatic)
}

fn consequence(chosen: &[SnapshotInfo]) -> String {
    let names: Vec<String> = chosen.iter().map(full_name).collect();
    format!("This removes {}.", names.join(", "))
}
