//! The operations, one file per noun.

mod apply;
pub(crate) mod client;
mod diff;
mod exec;
mod files;
mod history;
mod images;
mod jobs;
mod logs;
mod network;
mod process;
mod questions;
mod sandbox;
mod sandboxes;
mod secrets;
mod snapshots;
mod streams;
mod volumes;

use serde::{Deserialize, Serialize};

use msb_sdk::Notice;

use crate::operation::Operation;

/// Returns all operations.
pub(crate) fn all() -> Vec<Operation> {
    let groups = [
        apply::operations(),
        client::operations(),
        diff::operations(),
        exec::operations(),
        files::operations(),
        history::operations(),
        images::operations(),
        jobs::operations(),
        logs::operations(),
        network::operations(),
        process::operations(),
        questions::operations(),
        sandbox::operations(),
        sandboxes::operations(),
        secrets::operations(),
        snapshots::operations(),
        streams::operations(),
        volumes::operations(),
    ];
    groups.into_iter().flatten().collect()
}

/// The parameters of an operation that has none.
#[derive(Debug, Deserialize)]
struct Nothing {}

/// The parameters of an operation on something that has a name.
#[derive(Debug, Deserialize)]
struct Named {
    name: String,
}

/// A value with the notices of the operation that returned it.
#[derive(Debug, Serialize)]
struct Noticed<T> {
    #[serde(flatten)]
    value: T,
    warnings: Vec<Notice>,
}
