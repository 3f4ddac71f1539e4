use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{ImportOptions, Sandbox, SandboxFilter, SandboxOptions};
use serde::Serialize;

use super::client::ClientObject;
use super::sandbox::SandboxObject;
use super::{Named, Noticed};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::operation::Operation;

/// The name of a sandbox, and the relation of its handle to it.
#[derive(Debug, Serialize)]
struct Opened {
    id: String,
    name: String,
    is_owned: bool,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::of_options("sandboxes.run", run),
        Operation::of_options("sandboxes.create", create),
        Operation::new("sandboxes.get", get),
        Operation::of_options("sandboxes.list", list),
        Operation::of_options("sandboxes.import", import),
    ]
}

async fn run(
    client: Arc<ClientObject>,
    options: SandboxOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    opened(client.0.sandboxes().run_with(options).await?)
}

async fn create(
    client: Arc<ClientObject>,
    options: SandboxOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    opened(client.0.sandboxes().create_with(options).await?)
}

async fn get(client: Arc<ClientObject>, sandbox: Named, _: Vec<Bytes>) -> Result<Answer, Failure> {
    opened(client.0.sandboxes().get(sandbox.name).await?)
}

async fn import(
    client: Arc<ClientObject>,
    options: ImportOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    opened(client.0.sandboxes().import_snapshot_with(options).await?)
}

async fn list(
    client: Arc<ClientObject>,
    filter: SandboxFilter,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&client.0.sandboxes().list(filter).await?)
}

/// Returns a sandbox as an object.
pub(super) fn opened(sandbox: Sandbox) -> Result<Answer, Failure> {
    let value = Opened {
        id: sandbox.id(),
        name: sandbox.name(),
        is_owned: sandbox.is_owned(),
    };
    let warnings = sandbox.warnings().to_vec();
    let answer = Answer::with_value(&Noticed { value, warnings })?;
    Ok(answer.with_object(SandboxObject(sandbox)))
}
