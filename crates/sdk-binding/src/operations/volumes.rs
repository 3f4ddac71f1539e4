use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{Volume, VolumeOptions};

use super::client::ClientObject;
use super::{Named, Nothing};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::operation::Operation;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::of_options("volumes.create", create),
        Operation::new("volumes.get", get),
        Operation::new("volumes.list", list),
        Operation::new("volumes.remove", remove),
        Operation::new("volumes.prune", prune),
    ]
}

async fn create(
    client: Arc<ClientObject>,
    options: VolumeOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(client.0.volumes().create_with(options).await?.info())
}

async fn get(client: Arc<ClientObject>, volume: Named, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(client.0.volumes().get(volume.name).await?.info())
}

async fn list(client: Arc<ClientObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let volumes = client.0.volumes().list().await?;
    let infos: Vec<_> = volumes.iter().map(Volume::info).collect();
    Answer::with_value(&infos)
}

async fn remove(
    client: Arc<ClientObject>,
    volume: Named,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    client.0.volumes().remove(volume.name).await?;
    Ok(Answer::empty())
}

async fn prune(client: Arc<ClientObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(&client.0.volumes().prune().await?)
}
