//! The steps that compare the disks of sandboxes, take changes back, and put them elsewhere.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use msb_sdk::{
    Applied, AppliedDirectory, ApplyChoice, ApplyOptions, CommitOptions, Diff, DiffOptions,
    DiscardOptions, DiscardedChange, Msb, PatchLines, Question, QuestionAnswer, RuleState, Sandbox,
    Text,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::data::bytes;
use super::expectation::{Fields, plain};
use super::steps::{StepError, text, word};

/// The time within which each listener hears of a question.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

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
    Ok(taken_back(&sandbox.discard_with(options).await?))
}

/// Stages the directories of a sandbox anew.
pub(super) async fn restage(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    Ok(taken_back(&sandbox.restage(step["dry_run"] == true).await?))
}

/// Changes the rule of a path in a staged directory.
pub(super) async fn allow(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let state: Result<RuleState, _> = word(step, "state")?.parse();
    let state = state.map_err(|error| StepError::Other(error.into()))?;
    let allowed = sandbox.allow(word(step, "path")?, state).await?;
    let let_in: Vec<String> = allowed.let_in.iter().map(ToString::to_string).collect();
    Ok(Fields::from([
        ("rule", plain(allowed.rule)),
        ("let_in", plain(let_in)),
    ]))
}

/// Asks for a path as a process of the guest, and answers by functions: one for each listener.
pub(super) async fn ask(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let listeners = step["listeners"].as_u64().unwrap_or(1);
    let (sender, mut calls) = mpsc::unbounded_channel();
    let mut answering = Vec::new();
    for _ in 0..listeners {
        let (sender, answer) = (sender.clone(), step["answer"].clone());
        let on_ask = move |question: &Question| {
            // The receiver lives as long as the listeners.
            let _ = sender.send(question.clone());
            match answer.as_str() {
                Some("allow") => QuestionAnswer::allow(),
                Some("always") => QuestionAnswer::allow().always(),
                Some("deny") => QuestionAnswer::deny(),
                other => panic!("the function fails: {other:?}"),
            }
        };
        answering.push(sandbox.on_ask(on_ask).await?);
    }
    let words = ["msb-ask", word(step, "path")?, word(step, "reason")?];
    let output = sandbox.exec(words).await?;
    // The process goes on with the first answer, whether the others were called by then or not.
    let mut asked = Vec::new();
    for _ in 0..listeners {
        let call = timeout(CALL_TIMEOUT, calls.recv()).await;
        let call = call.map_err(|_| anyhow!("a listener was not called"))?;
        asked.extend(call);
    }
    let mut has_failed = false;
    for answering in answering {
        if step["answer"] == "fail" {
            has_failed |= tokio::spawn(answering.ended()).await.is_err();
        }
    }
    let question = asked.first().context("no function was called")?;
    Ok(Fields::from([
        ("subject", plain(question.subject.clone())),
        ("reason", plain(question.reason.clone())),
        ("calls", plain(asked.len())),
        ("failed", plain(has_failed)),
        ("exit_code", plain(output.exit_code)),
    ]))
}

fn taken_back(changes: &[DiscardedChange]) -> Fields {
    let lines = changes.iter();
    let lines = lines.map(|change| format!("{} {}", change.kind.letter(), change.path));
    Fields::from([("changes", plain(lines.collect::<Vec<_>>()))])
}

/// Puts changes into a directory of the host, or into those that the staged directories were made of.
pub(super) async fn apply(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let mut options = ApplyOptions::default();
    if !step["from"].is_null() {
        options.from = Some(text(step, "from")?);
    }
    options.dry_run = step["dry_run"] == true;
    options.base = step["base"].as_str().map(str::to_owned);
    options.then_discard = step["then_discard"] == true;
    options.merges = !step["choices"].is_null();
    if options.merges {
        let plan = sandbox.plan_apply(None, options).await?;
        for change in plan.changes() {
            let choice = match &step["choices"][change.path.to_string()] {
                Value::Bool(true) => ApplyChoice::Yes,
                Value::Array(hunks) => {
                    ApplyChoice::Hunks(hunks.iter().map(|made| *made == true).collect())
                }
                _ => ApplyChoice::No,
            };
            plan.choose(change.index, choice);
        }
        return Ok(put_into_sources(plan.run().await?));
    }
    if !step["directory"].is_null() {
        let applied = sandbox.apply(word(step, "directory")?, options).await?;
        return Ok(put_elsewhere(Vec::new(), &[applied]));
    }
    Ok(put_into_sources(sandbox.apply_staged(options).await?))
}

fn put_into_sources(directories: Vec<AppliedDirectory>) -> Fields {
    let directories = directories.into_iter();
    let (targets, applied): (Vec<_>, Vec<_>) = directories
        .map(|directory| (directory.target, directory.applied))
        .unzip();
    put_elsewhere(targets, &applied)
}

fn put_elsewhere(targets: Vec<String>, applied: &[Applied]) -> Fields {
    let changes = applied.iter().flat_map(|applied| &applied.changes);
    let lines = changes.map(|change| format!("{} {}", change.kind.letter(), change.path));
    let refused = applied.iter().flat_map(|applied| &applied.refused);
    let rules = refused.map(|refused| refused.rule.clone());
    Fields::from([
        ("targets", plain(targets)),
        ("changes", plain(lines.collect::<Vec<_>>())),
        ("refused", plain(rules.collect::<Vec<_>>())),
    ])
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
