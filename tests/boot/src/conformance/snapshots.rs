//! The steps that take snapshots of a sandbox, and go back to them.

use anyhow::Context as _;
use msb_sdk::{CommandRecord, HistoryOptions, Sandbox, SnapshotInfo, SnapshotOptions, UndoOptions};
use serde_json::Value;

use super::expectation::{Fields, plain};
use super::steps::{StepError, word};

/// Carries out a step on the snapshots of a sandbox.
pub(super) async fn perform(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let snapshots = sandbox.snapshots();
    match word(step, "do")? {
        "snapshot_create" => {
            let mut options = SnapshotOptions::default();
            options.name = step["name"].as_str().map(str::to_owned);
            options.message = step["message"].as_str().map(str::to_owned);
            options.freeze = step["freeze"].as_bool().unwrap_or(true);
            Ok(described(snapshots.create_with(options).await?))
        }
        "snapshot_get" => Ok(described(snapshots.get(word(step, "name")?).await?)),
        "snapshot_remove" => {
            snapshots.remove(word(step, "name")?).await?;
            Ok(Fields::new())
        }
        "snapshot_list" => {
            let names = snapshots.list().await?.into_iter().map(|found| found.name);
            Ok(Fields::from([("names", plain(names.collect::<Vec<_>>()))]))
        }
        "snapshot_verify" => {
            let mut verified = snapshots.verify(None).await?;
            verified.sort_by(|one, other| one.name.cmp(&other.name));
            let problems = verified.iter().filter_map(|one| one.problem.clone());
            let problems = plain(problems.collect::<Vec<_>>());
            let names = verified.into_iter().map(|one| one.name);
            Ok(Fields::from([
                ("names", plain(names.collect::<Vec<_>>())),
                ("problems", problems),
            ]))
        }
        "snapshot_merge" => {
            snapshots.merge().await?;
            Ok(Fields::new())
        }
        "snapshot_export" => {
            let path = word(step, "path")?;
            snapshots.export(word(step, "name")?, path).await?;
            Ok(Fields::new())
        }
        other => Err(anyhow::anyhow!("no step {other}").into()),
    }
}

/// Makes the files of a sandbox those of a snapshot.
pub(super) async fn rollback(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let rolled = sandbox.rollback(step["name"].as_str()).await?;
    Ok(Fields::from([
        ("to", plain(rolled.to.name)),
        ("kept", plain(rolled.kept.name)),
        ("restarted", plain(rolled.restarted)),
    ]))
}

/// Lists the commands of a sandbox.
pub(super) async fn history(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let mut options = HistoryOptions::default();
    options.changes = step["changes"] == true;
    let commands = sandbox.history_with(options).await?.commands;
    let each =
        |field: fn(&CommandRecord) -> Value| plain(commands.iter().map(field).collect::<Vec<_>>());
    Ok(Fields::from([
        ("numbers", each(|one| one.number.into())),
        ("exit_codes", each(|one| one.exit_code.into())),
        ("snapshots", each(|one| one.snapshot.clone().into())),
        ("undone", each(|one| one.undone.into())),
        (
            "changes",
            each(|one| {
                let counts = one.changes.map(|one| [one.added, one.changed, one.deleted]);
                counts.map(Vec::from).into()
            }),
        ),
    ]))
}

/// Undoes commands of a sandbox.
pub(super) async fn undo(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let mut options = UndoOptions::default();
    if let Some(count) = step["count"].as_u64() {
        options.count = usize::try_from(count).context("too many")?;
    }
    options.dry_run = step["dry_run"] == true;
    let undone = sandbox.undo_with(options).await?;
    let numbers = undone.commands.iter().map(|one| one.number);
    Ok(Fields::from([
        ("numbers", plain(numbers.collect::<Vec<_>>())),
        ("to", plain(undone.to.name)),
        ("kept", plain(undone.kept.map(|kept| kept.name))),
        ("restarted", plain(undone.restarted)),
    ]))
}

fn described(snapshot: SnapshotInfo) -> Fields {
    Fields::from([
        ("name", plain(snapshot.name)),
        ("message", plain(snapshot.message)),
        ("consistency", plain(snapshot.consistency.as_str())),
    ])
}
