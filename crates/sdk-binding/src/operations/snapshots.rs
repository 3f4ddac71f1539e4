use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{BranchOptions, ForkOptions, RollbackOptions, Sandbox, SnapshotOptions};
use serde::{Deserialize, Serialize};

use super::sandbox::SandboxObject;
use super::sandboxes::opened;
use super::{Named, Nothing, Noticed};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::operation::Operation;

/// A snapshot, or the absence of a choice.
#[derive(Debug, Deserialize)]
struct Chosen {
    #[serde(default)]
    name: Option<String>,
}

/// A snapshot, and the file that it is written to.
#[derive(Debug, Deserialize)]
struct Export {
    name: String,
    path: PathBuf,
}

#[derive(Debug, Serialize)]
struct Merged {
    freed_bytes: u64,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new("snapshots.create", create),
        Operation::new("snapshots.list", list),
        Operation::new("snapshots.get", get),
        Operation::new("snapshots.remove", remove),
        Operation::new("snapshots.verify", verify),
        Operation::new("snapshots.merge", merge),
        Operation::new("snapshots.export", export),
        Operation::of_options("rollback", rollback),
        Operation::of_options("fork", fork),
        Operation::of_options("branch", branch),
    ]
}

/// The names of forks.
#[derive(Debug, Serialize)]
struct Forks {
    names: Vec<String>,
}

async fn fork(
    sandbox: Arc<SandboxObject>,
    options: ForkOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let forks = sandbox.0.fork(options).await?;
    let warnings = forks.first().map(|fork| fork.warnings().to_vec());
    let value = Forks {
        names: forks.iter().map(Sandbox::name).collect(),
    };
    Answer::with_value(&Noticed {
        value,
        warnings: warnings.unwrap_or_default(),
    })
}

async fn branch(
    sandbox: Arc<SandboxObject>,
    options: BranchOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    opened(sandbox.0.branch(options).await?)
}

async fn create(
    sandbox: Arc<SandboxObject>,
    options: SnapshotOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.snapshots().create_with(options).await?)
}

async fn list(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.snapshots().list().await?)
}

async fn get(
    sandbox: Arc<SandboxObject>,
    snapshot: Named,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.snapshots().get(&snapshot.name).await?)
}

async fn remove(
    sandbox: Arc<SandboxObject>,
    snapshot: Named,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    sandbox.0.snapshots().remove(&snapshot.name).await?;
    Ok(Answer::empty())
}

async fn verify(
    sandbox: Arc<SandboxObject>,
    chosen: Chosen,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let snapshots = sandbox.0.snapshots();
    Answer::with_value(&snapshots.verify(chosen.name.as_deref()).await?)
}

async fn merge(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let freed_bytes = sandbox.0.snapshots().merge().await?;
    Answer::with_value(&Merged { freed_bytes })
}

async fn export(
    sandbox: Arc<SandboxObject>,
    export: Export,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    sandbox
        .0
        .snapshots()
        .export(&export.name, export.path)
        .await?;
    Ok(Answer::empty())
}

async fn rollback(
    sandbox: Arc<SandboxObject>,
    options: RollbackOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let value = sandbox.0.rollback_with(options).await?;
    let warnings = value.notices.clone();
    Answer::with_value(&Noticed { value, warnings })
}
