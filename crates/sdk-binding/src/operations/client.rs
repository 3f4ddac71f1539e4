use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{Msb, Settings};
use serde_json::Value;

use super::Nothing;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::object::{Object, Target};
use crate::operation::Operation;
use crate::parameters;

/// The client, on which the operations of images, sandboxes and volumes are called too.
pub(super) struct ClientObject(pub(super) Msb);

impl Object for ClientObject {
    const KIND: &'static str = "client";
}

/// Opens a client with these settings, as JSON.
///
/// # Errors
///
/// A setting that does not exist or cannot be used.
pub(crate) fn open(text: &str) -> Result<Target, Failure> {
    let settings: Settings = parameters::parse("the client", text, &setting_names())?;
    Ok(Target::new(ClientObject(Msb::with_settings(settings)?)))
}

/// Waits until the sandboxes that closed handles owned are removed.
pub(crate) async fn settled(root: &Target) {
    if let Some(client) = root.clone().downcast::<ClientObject>() {
        // It has no error of its own: failed removals are left to the next sweep.
        let _settled = client.0.settled().await;
    }
}

fn setting_names() -> Vec<String> {
    match serde_json::to_value(Settings::default()) {
        Ok(Value::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new("version", version),
        Operation::new("doctor", doctor),
    ]
}

async fn version(client: Arc<ClientObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(&client.0.version())
}

async fn doctor(client: Arc<ClientObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(&client.0.doctor().await?)
}
