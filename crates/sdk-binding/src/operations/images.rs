use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{
    Force, Image, ImageInfo, LoadOptions, LoginOptions, PruneOptions, Pull, PullOptions, Push,
    PushOptions, SaveOptions,
};
use serde::{Deserialize, Serialize};

use super::client::ClientObject;
use super::{Named, Nothing, Noticed};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::object::Object;
use crate::operation::Operation;

/// A pull that runs.
struct PullObject(Pull);

impl Object for PullObject {
    const KIND: &'static str = "pull";
}

/// A push that runs.
struct PushObject(Push);

impl Object for PushObject {
    const KIND: &'static str = "push";
}

#[derive(Debug, Deserialize)]
struct Remove {
    name: String,
    #[serde(default)]
    force: bool,
}

#[derive(Debug, Deserialize)]
struct Tag {
    image: String,
    name: String,
}

#[derive(Debug, Deserialize)]
struct Logout {
    #[serde(default)]
    registry: Option<String>,
}

#[derive(Debug, Serialize)]
struct Loaded {
    images: Vec<ImageInfo>,
}

#[derive(Debug, Serialize)]
struct Step<E> {
    event: E,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::of_options("images.pull", pull),
        Operation::of_options("images.load", load),
        Operation::new("images.get", get),
        Operation::new("images.list", list),
        Operation::new("images.remove", remove),
        Operation::of_options("images.prune", prune),
        Operation::new("images.inspect", inspect),
        Operation::new("images.history", history),
        Operation::of_options("images.save", save),
        Operation::new("images.tag", tag),
        Operation::of_options("images.push", push),
        Operation::of_options("images.login", login),
        Operation::new("images.logout", logout),
        Operation::new("next", next_of_pull),
        Operation::new("image", image),
        Operation::new("next", next_of_push),
        Operation::new("pushed", pushed),
    ]
}

async fn pull(
    client: Arc<ClientObject>,
    options: PullOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let pull = client.0.images().watch_with(options);
    Ok(Answer::empty().with_object(PullObject(pull)))
}

async fn load(
    client: Arc<ClientObject>,
    options: LoadOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let images = client.0.images().load_with(options).await?;
    // Each image of a load has the notices of the whole load.
    let warnings = images.first().map(|image| image.warnings().to_vec());
    let images = images.iter().map(|image| image.info().clone());
    let value = Loaded {
        images: images.collect(),
    };
    Answer::with_value(&Noticed {
        value,
        warnings: warnings.unwrap_or_default(),
    })
}

async fn get(client: Arc<ClientObject>, image: Named, _: Vec<Bytes>) -> Result<Answer, Failure> {
    described(&client.0.images().get(image.name).await?)
}

async fn list(client: Arc<ClientObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let images = client.0.images().list().await?;
    let infos: Vec<_> = images.iter().map(Image::info).collect();
    Answer::with_value(&infos)
}

async fn remove(
    client: Arc<ClientObject>,
    remove: Remove,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let force = if remove.force { Force::Yes } else { Force::No };
    Answer::with_value(&client.0.images().remove(remove.name, force).await?)
}

async fn prune(
    client: Arc<ClientObject>,
    options: PruneOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&client.0.images().prune_with(options).await?)
}

async fn inspect(
    client: Arc<ClientObject>,
    image: Named,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&client.0.images().inspect(image.name).await?)
}

async fn history(
    client: Arc<ClientObject>,
    image: Named,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&client.0.images().history(image.name).await?)
}

async fn save(
    client: Arc<ClientObject>,
    options: SaveOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    client.0.images().save_with(options).await?;
    Ok(Answer::empty())
}

async fn tag(client: Arc<ClientObject>, tag: Tag, _: Vec<Bytes>) -> Result<Answer, Failure> {
    client.0.images().tag(tag.image, tag.name).await?;
    Ok(Answer::empty())
}

async fn push(
    client: Arc<ClientObject>,
    options: PushOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let push = client.0.images().push("").with_options(options).watch();
    Ok(Answer::empty().with_object(PushObject(push)))
}

async fn login(
    client: Arc<ClientObject>,
    options: LoginOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&client.0.images().login(options).await?)
}

async fn logout(
    client: Arc<ClientObject>,
    logout: Logout,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&client.0.images().logout(logout.registry).await?)
}

async fn next_of_pull(pull: Arc<PullObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    step(pull.0.next().await?)
}

async fn next_of_push(push: Arc<PushObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    step(push.0.next().await?)
}

/// Answers with an event, or with nothing once there are no more.
fn step(event: Option<impl Serialize>) -> Result<Answer, Failure> {
    match event {
        Some(event) => Answer::with_value(&Step { event }),
        None => Ok(Answer::empty()),
    }
}

async fn image(pull: Arc<PullObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    described(&pull.0.image().await?)
}

async fn pushed(push: Arc<PushObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(&push.0.pushed().await?)
}

fn described(image: &Image) -> Result<Answer, Failure> {
    Answer::with_value(&Noticed {
        value: image.info(),
        warnings: image.warnings().to_vec(),
    })
}
