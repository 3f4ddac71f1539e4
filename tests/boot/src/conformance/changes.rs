//! The steps that compare the disks of sandboxes, take changes back, and put them elsewhere.

use anyhow::{Context as _, Result};
use msb_sdk::{
    Applied, AppliedDirectory, ApplyChoice, ApplyOptions, CommitOptions, Diff, DiffOptions,
    DiscardOptions, DiscardedChange, Msb, PatchLines, QuestionAnswer, QuestionEvent, RuleState,
    Sandbox, Text,
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

/// Asks for a path as a process of the guest, and answers.
pub(super) async fn ask(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let answer = if step["answer"] == "allow" {
        QuestionAnswer::allow()
    } else {
        QuestionAnswer::deny()
    };
    let questions = sandbox.questions().await?;
    let answered = async {
        while let Some(event) = questions.next().await? {
            if let QuestionEvent::Asked(question) = event {
                sandbox.answer(question.clone(), answer).await?;
                return Ok(question);
            }
        }
        Err(StepError::Other(anyhow::anyhow!("the sandbox has ended")))
    };
    let words = ["msb-ask", word(step, "path")?, word(step, "reason")?];
    let asking = async { Ok(sandbox.exec(words).await?) };
    let (question, output) = tokio::try_join!(answered, asking)?;
    Ok(Fields::from([
        ("subject", plain(question.subject)),
        ("reason", plain(question.reason)),
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
