use std::time::Duration;

use msb_sdk::{SandboxFilter, SandboxState, SnapshotInfo};

use super::{full_name, split_named};
use crate::commands::Context;
use msb_terminal::confirm::confirmed;
use msb_terminal::failure::{Failure, Failures, Outcome};
use msb_terminal::output;
use msb_terminal::until_filter::parse_filter;

/// The number of snapshots that a question names.
const NAMES_SHOWN: usize = 5;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The sandbox keeps its files. Space that neither they nor another snapshot need \
    is returned to the host.\n\n\
    Examples:\n  \
    msb snapshot rm work@clean work@2"
)]
pub(super) struct RemoveArguments {
    /// Snapshots
    #[arg(required = true, value_name = "SANDBOX@NAME")]
    snapshots: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Removes the snapshots that rollbacks and commands made of the previous files; the commands can no \
    longer be undone. Then merges the \
    generations of the disks that no snapshot refers to, which frees overwritten data; msb also \
    does this in the background when a disk has many. The sandboxes keep their files. Without \
    names, running sandboxes are skipped.\n\n\
    Asks first unless --force is given; without an answer, it removes nothing and fails.\n\n\
    Examples:\n  \
    msb snapshot prune\n  \
    msb snapshot prune --force --filter until=24h work\n  \
    msb snapshot prune --all work"
)]
pub(super) struct PruneArguments {
    /// Remove every snapshot, not only those that rollbacks and commands made
    #[arg(short, long)]
    all: bool,
    /// until=DURATION: only snapshots that are older, such as 90m, 24h or 10d
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
    let before_bytes = taken_bytes(context).await?;
    let mut count = 0;
    for snapshot in &chosen {
        let sandbox = context.handle(&snapshot.sandbox).await?;
        let removed = sandbox.snapshots().remove(&snapshot.name).await;
        if failures.note(removed).is_some() {
            count += 1;
            output::print(&format!("{}\n", full_name(snapshot)))?;
        }
    }
    for name in &sandboxes {
        let sandbox = context.handle(name).await?;
        failures.note(sandbox.snapshots().merge().await);
    }
    let freed_bytes = before_bytes.saturating_sub(taken_bytes(context).await?);
    output::print(&format!(
        "{}, {} reclaimed\n",
        counted(count),
        output::human_size(freed_bytes)
    ))?;
    Ok(failures.code)
}

/// Returns the space that the disks of all sandboxes take. Forks share parts, so the size of a single
/// disk does not tell how much a removal gives back.
async fn taken_bytes(context: &Context) -> Result<u64, Failure> {
    Ok(context.msb.usage().await?.sandboxes.size_bytes)
}

fn counted(count: usize) -> String {
    match count {
        1 => "1 snapshot".to_owned(),
        _ => format!("{count} snapshots"),
    }
}

/// Returns the sandboxes that are named; without names, all that are not running.
async fn sandboxes(context: &Context, arguments: &PruneArguments) -> Result<Vec<String>, Failure> {
    if !arguments.sandboxes.is_empty() {
        return Ok(arguments.sandboxes.clone());
    }
    let all = context.msb.sandboxes().list(SandboxFilter::all()).await?;
    let is_at_rest = |state| matches!(state, SandboxState::Created | SandboxState::Stopped);
    let not_running = all.into_iter().filter(|info| is_at_rest(info.state));
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
    let names: Vec<String> = chosen.iter().take(NAMES_SHOWN).map(full_name).collect();
    let more = match chosen.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let count = counted(chosen.len());
    format!("This removes {count}: {}{more}.", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_counts_the_snapshots_and_names_a_few() {
        let snapshot = |number: u64| {
            let snapshot = serde_json::json!({
                "sandbox": "work", "name": number.to_string(), "number": number, "created_s": 0,
                "automatic": true, "consistency": "clean", "size_bytes": 0, "image_digest": "",
            });
            serde_json::from_value::<SnapshotInfo>(snapshot).expect("a snapshot")
        };
        let question = |count| consequence(&(1..=count).map(snapshot).collect::<Vec<_>>());
        assert_eq!(question(1), "This removes 1 snapshot: work@1.");
        let few = "work@1, work@2, work@3, work@4, work@5";
        assert_eq!(question(5), format!("This removes 5 snapshots: {few}."));
        assert_eq!(
            question(525),
            format!("This removes 525 snapshots: {few} and 520 more.")
        );
    }
}
