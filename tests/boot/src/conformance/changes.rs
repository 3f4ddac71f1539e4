//! The steps that compare the disks of sandboxes, take changes back, and put them elsewhere.

use anyhow::{Context as _, Result};
use msb_sdk::{
    ApplyOptions, CommitOptions, Diff, DiffOptions, DiscardOptions, Msb, PatchLines, Sandbox, Text,
};
use serde_json::Value;

use super::data::bytes;
use super::expectation::{Fields, plain};
use super::steps::{StepError, text, word};

/// Compares a sandbox with its image.
pub(super) async fn of_sandbox(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    listed(&sandbox.diff(options(step)?).await?).await
}

/// Compares what two names stand for.
pub(super) async fn between(msb: &Msb, step: &Value) -> Result<Fields, StepError> {
    let (old, new) = (word(step, "old")?, word(step, "new")?);
    listed(&msb.diff(old, new, options(step)?).await?).await
}

/// Takes changes back.
pub(super) async fn discard(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let mut options = DiscardOptions::default();
    options.paths = paths(step)?;
    options.base = step["base"].as_str().map(str::to_owned);
    let exclude = step["exclude"].as_array().into_iter().flatten();
    options.exclude = exclude.filter_map(Value::as_str).map(Text::from).collect();
    let changes = sandbox.discard_with(options).await?;
    let lines = changes
        .iter()
        .map(|change| format!("{} {}", change.kind.letter(), change.path));
    Ok(Fields::from([(
        "changes",
        plain(lines.collect::<Vec<_>>()),
    )]))
}

/// Puts changes into a directory of the host.
pub(super) async fn apply(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let mut options = ApplyOptions::default().from(text(step, "from")?);
    options.dry_run = step["dry_run"] == true;
    options.base = step["base"].as_str().map(str::to_owned);
    let applied = sandbox.apply(word(step, "directory")?, options).await?;
    let changes = applied.changes.iter();
    let lines = changes.map(|change| format!("{} {}", change.kind.letter(), change.path));
    Ok(Fields::from([(
        "changes",
        plain(lines.collect::<Vec<_>>()),
    )]))
}

/// Makes an image of a sandbox.
pub(super) async fn commit(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let mut options = CommitOptions::default();
    options.message = step["message"].as_str().map(str::to_owned);
    let changes = step["changes"].as_array().into_iter().flatten();
    let changes = changes.filter_map(Value::as_str).map(str::to_owned);
    options.changes = changes.collect();
    let committed = sandbox.commit(word(step, "name")?, options).await?;
    Ok(Fields::from([
        ("has_layer", plain(committed.layer.is_some())),
        ("notes", plain(committed.notes)),
    ]))
}

async fn listed(diff: &Diff) -> Result<Fields, StepError> {
    let changes = diff.changes();
    let lines = changes.map(|change| format!("{} {}", change.kind.letter(), change.path));
    let mut inserted_lines = 0;
    for index in 0..diff.len() {
        if let PatchLines::Text { inserted, .. } = diff.patch(index).await?.lines {
            inserted_lines += inserted;
        }
    }
    Ok(Fields::from([
        ("count", plain(diff.len())),
        ("changes", plain(lines.collect::<Vec<_>>())),
        ("inserted_lines", plain(inserted_lines)),
    ]))
}

fn options(step: &Value) -> Result<DiffOptions> {
    let mut options = DiffOptions::default();
    if !step["paths"].is_null() {
        options.paths = paths(step)?;
    }
    Ok(options)
}

fn paths(step: &Value) -> Result<Vec<Text>> {
    let paths = step["paths"].as_array().context("a step without paths")?;
    let texts = paths.iter().map(|path| Ok(Text::from(bytes(path)?)));
    texts.collect()
}
