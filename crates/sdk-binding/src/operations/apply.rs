//! Changes that are put into directories of the host, chosen one by one.

use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{ApplyChoice, ApplyPlan};
use serde::{Deserialize, Serialize};

use super::Nothing;
use super::diff::Apply;
use super::sandbox::SandboxObject;
use super::streams::Stream;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::object::Object;
use crate::operation::Operation;

/// The number of changes in one answer. A guest can make millions, which are never in memory together.
const CHANGES_MAX: usize = 256;

/// A plan. Stopped sandboxes cannot be started until it is closed.
impl Object for Stream<ApplyPlan> {
    const KIND: &'static str = "apply-plan";

    fn close(&self) {
        Self::close(self);
    }
}

#[derive(Debug, Deserialize)]
struct From {
    from: usize,
}

#[derive(Debug, Deserialize)]
struct Index {
    index: usize,
}

#[derive(Debug, Deserialize)]
struct Chosen {
    index: usize,
    choice: ApplyChoice,
}

/// A hunk without its text.
#[derive(Debug, Serialize)]
struct HunkInfo {
    overlaps: bool,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::of_options("plan_apply", plan_apply),
        Operation::new("offered", offered),
        Operation::new("hunks", hunks),
        Operation::new("patch", patch),
        Operation::new("choose", choose),
        Operation::new("run", run),
    ]
}

async fn plan_apply(
    sandbox: Arc<SandboxObject>,
    apply: Apply,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let plan = sandbox.0.plan_apply(apply.directory, apply.options).await?;
    plan.check()?;
    Ok(Answer::empty().with_object(Stream::new(plan)))
}

/// Returns at most [`CHANGES_MAX`] changes, from an index on; none at the end.
async fn offered(
    plan: Arc<Stream<ApplyPlan>>,
    from: From,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let changes = open(&plan)?.changes().into_iter();
    let changes = changes.skip(from.from).take(CHANGES_MAX);
    Answer::with_value(&changes.collect::<Vec<_>>())
}

/// Returns the hunks of a change, with their texts as bulk data.
async fn hunks(
    plan: Arc<Stream<ApplyPlan>>,
    index: Index,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let hunks = open(&plan)?.hunks(index.index).await?;
    let infos = hunks.iter().map(|hunk| HunkInfo {
        overlaps: hunk.overlaps,
    });
    let answer = Answer::with_value(&infos.collect::<Vec<_>>())?;
    Ok(answer.with_content(hunks.into_iter().map(|hunk| hunk.text).collect()))
}

async fn patch(
    plan: Arc<Stream<ApplyPlan>>,
    index: Index,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let patch = open(&plan)?.patch(index.index).await?;
    Ok(Answer::empty().with_content(vec![patch.text]))
}

async fn choose(
    plan: Arc<Stream<ApplyPlan>>,
    chosen: Chosen,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    open(&plan)?.choose(chosen.index, chosen.choice);
    Ok(Answer::empty())
}

/// Makes the changes, and answers a list: a result for each directory.
async fn run(plan: Arc<Stream<ApplyPlan>>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let applied = open(&plan)?.run().await?;
    Answer::with_value(&applied)
}

fn open(plan: &Stream<ApplyPlan>) -> Result<Arc<ApplyPlan>, Failure> {
    let closed = || Failure::invalid_argument("the plan is closed");
    plan.open().ok_or_else(closed)
}
