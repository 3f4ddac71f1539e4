use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{
    ApplyOptions, Change, CommitOptions, Diff, DiffOptions, DiscardOptions, PatchLines, Text,
};
use serde::{Deserialize, Serialize};

use super::Nothing;
use super::client::ClientObject;
use super::sandbox::SandboxObject;
use super::streams::Stream;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::object::Object;
use crate::operation::Operation;

/// The number of changes in one answer. A guest can make millions, which are never in memory
/// together.
const CHANGES_MAX: usize = 256;

/// A comparison. Stopped sandboxes cannot be started until it is closed.
impl Object for Stream<Diff> {
    const KIND: &'static str = "diff";

    fn close(&self) {
        Self::close(self);
    }
}

#[derive(Debug, Deserialize)]
struct Between {
    old: String,
    new: String,
    #[serde(default)]
    paths: Vec<Text>,
    #[serde(default)]
    exclude: Vec<Text>,
    #[serde(default)]
    include: Vec<Text>,
    #[serde(default = "pauses")]
    pause: bool,
}

/// Returns the default of `pause`: the disk of a running sandbox is frozen.
const fn pauses() -> bool {
    true
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Apply {
    /// `None` for the directories that the staged ones were made of.
    pub(super) directory: Option<PathBuf>,
    #[serde(flatten)]
    pub(super) options: ApplyOptions,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Restage {
    dry_run: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Commit {
    name: String,
    #[serde(flatten)]
    options: CommitOptions,
}

#[derive(Debug, Deserialize)]
struct From {
    from: usize,
}

#[derive(Debug, Deserialize)]
struct Index {
    index: usize,
}

/// A change with its index, by which its patch is called for.
#[derive(Debug, Serialize)]
struct Numbered {
    index: usize,
    #[serde(flatten)]
    change: Change,
}

#[derive(Debug, Serialize)]
struct PatchInfo {
    lines: PatchLines,
    is_partial: bool,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::of_options("diff", of_sandbox),
        Operation::new("diff", between),
        Operation::of_options("discard", discard),
        Operation::of_options("apply", apply),
        Operation::of_options("restage", restage),
        Operation::of_options("commit", commit),
        Operation::new("count", count),
        Operation::new("changes", changes),
        Operation::new("patch", patch),
    ]
}

async fn of_sandbox(
    sandbox: Arc<SandboxObject>,
    options: DiffOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let diff = sandbox.0.diff(options).await?;
    Ok(Answer::empty().with_object(Stream::new(diff)))
}

async fn between(
    client: Arc<ClientObject>,
    between: Between,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let mut options = DiffOptions::default();
    options.paths = between.paths;
    options.exclude = between.exclude;
    options.include = between.include;
    options.pause = between.pause;
    let diff = client.0.diff(between.old, between.new, options).await?;
    Ok(Answer::empty().with_object(Stream::new(diff)))
}

async fn discard(
    sandbox: Arc<SandboxObject>,
    options: DiscardOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let discarded = sandbox.0.discard_with(options).await?;
    Answer::with_value(&discarded)
}

/// Answers one result for a directory, and without one a list: a result for each staged directory.
async fn apply(
    sandbox: Arc<SandboxObject>,
    apply: Apply,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    match apply.directory {
        Some(directory) => {
            let applied = sandbox.0.apply(directory, apply.options).await?;
            Answer::with_value(&applied)
        }
        None => {
            let applied = sandbox.0.apply_staged(apply.options).await?;
            Answer::with_value(&applied)
        }
    }
}

async fn restage(
    sandbox: Arc<SandboxObject>,
    restage: Restage,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let changes = sandbox.0.restage(restage.dry_run).await?;
    Answer::with_value(&changes)
}

async fn commit(
    sandbox: Arc<SandboxObject>,
    commit: Commit,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let committed = sandbox.0.commit(commit.name, commit.options).await?;
    Answer::with_value(&committed)
}

async fn count(diff: Arc<Stream<Diff>>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(&open(&diff)?.len())
}

/// Returns at most [`CHANGES_MAX`] changes, from an index on; none at the end.
async fn changes(diff: Arc<Stream<Diff>>, from: From, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let diff = open(&diff)?;
    let indexes = from.from..from.from.saturating_add(CHANGES_MAX);
    let numbered = |index| {
        let change = diff.get(index)?;
        Some(Numbered { index, change })
    };
    Answer::with_value(&indexes.map_while(numbered).collect::<Vec<_>>())
}

async fn patch(diff: Arc<Stream<Diff>>, index: Index, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let patch = open(&diff)?.patch(index.index).await?;
    let info = PatchInfo {
        lines: patch.lines,
        is_partial: patch.is_partial,
    };
    Ok(Answer::with_value(&info)?.with_content(vec![patch.text]))
}

fn open(diff: &Stream<Diff>) -> Result<Arc<Diff>, Failure> {
    diff.open()
        .ok_or_else(|| Failure::invalid_argument("the comparison is closed"))
}
