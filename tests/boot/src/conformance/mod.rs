//! The behaviours of `sdk/conformance`, carried out with the Rust SDK.

mod changes;
mod commands;
mod data;
mod expectation;
mod http;
mod network;
mod secrets;
mod snapshots;
mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use msb_sdk::{Msb, Sandbox, SandboxOptions, Settings};
use serde_json::{Value, json};
use test_support::TestEnv;
use test_support::harness::Trial;
use tokio::task::JoinSet;

use crate::trial::boot;
use data::{Behaviour, Behaviours, Variables, bytes, filled};
use expectation::{check_error, check_result};
use steps::{Stage, StepError, perform, read};

pub(crate) fn tests() -> Vec<Trial> {
    let title = "conformance of the Rust SDK";
    vec![boot("conformance", title, check_all)]
}

/// The time in which a sandbox is removed after its last handle was dropped.
const REMOVED_TIMEOUT: Duration = Duration::from_secs(60);

/// The state that all behaviours share.
struct World {
    msb: Msb,
    settings: Settings,
    /// The options of a sandbox of the test image.
    defaults: Value,
    sandboxes: BTreeMap<&'static str, Sandbox>,
    variables: Variables,
}

fn check_all(env: &TestEnv) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(check_each(env));
    runtime.shutdown_timeout(Duration::from_secs(5));
    outcome
}

/// Carries out every behaviour, prints the outcome of each under its id, and fails if one failed or
/// was left out.
async fn check_each(env: &TestEnv) -> Result<()> {
    let data = Behaviours::read()?;
    let world = World::make(env, &data).await?;
    let (mut reported, mut failed) = (BTreeSet::new(), Vec::new());
    for behaviour in &data.behaviours {
        let outcome = check(&world, behaviour).await;
        reported.insert(behaviour.id.as_str());
        match outcome {
            Ok(()) => println!("behaviour {}: ok", behaviour.id),
            Err(error) => {
                println!("behaviour {}: failed: {error:#}", behaviour.id);
                failed.push(behaviour.id.as_str());
            }
        }
    }
    world.close().await?;
    ensure!(
        reported.len() == data.behaviours.len(),
        "an id stands for two behaviours"
    );
    ensure!(
        failed.is_empty(),
        "behaviours failed: {}",
        failed.join(", ")
    );
    Ok(())
}

impl World {
    async fn make(env: &TestEnv, data: &Behaviours) -> Result<Self> {
        let host = env.work.join("conformance");
        let variables = Variables::from([
            ("host".to_owned(), host.display().to_string().into()),
            ("sandbox".to_owned(), "conformance-main".into()),
            ("volume".to_owned(), "conformance-volume".into()),
            ("image".to_owned(), env.image().into()),
        ]);
        for file in &data.files {
            let path = filled(&file.path, &variables);
            let path = Path::new(path.as_str().context("no path")?);
            fs_err::create_dir_all(path.parent().context("no directory")?)?;
            fs_err::write(path, bytes(&file.data)?)?;
        }
        let settings: Settings = read(json!({
            "home": env.home(), "program": env.program, "kernel": env.kernel, "vmm": env.vmm(),
        }))?;
        let msb = Msb::with_settings(settings.clone())?;
        let defaults = json!({
            "image": env.image(), "memory": "512M", "cpus": 1, "pull": "never",
        });
        let mut world = Self {
            msb,
            settings,
            defaults,
            sandboxes: BTreeMap::new(),
            variables,
        };
        let main = world.options(&data.main.options)?;
        let main = world.msb.sandboxes().run_with(main).await?;
        world.sandboxes.insert("main", main);
        let finished = world.options(&data.finished.options)?;
        let finished = world.msb.sandboxes().create_with(finished).await?;
        finished.start().await?;
        finished.wait().await?;
        world.sandboxes.insert("finished", finished);
        Ok(world)
    }

    fn options(&self, template: &Value) -> Result<SandboxOptions> {
        let mut options = self.defaults.clone();
        let given = filled(template, &self.variables);
        for (name, value) in given.as_object().into_iter().flatten() {
            options[name] = value.clone();
        }
        read(options)
    }

    async fn close(self) -> Result<()> {
        for sandbox in self.sandboxes.values() {
            sandbox.remove(msb_sdk::Force::Yes).await?;
        }
        let volume = self.variables["volume"].as_str().context("no volume")?;
        self.msb.volumes().remove(volume).await?;
        // Sandboxes whose handles were dropped are removed meanwhile.
        let home = self.settings.home.context("no home")?;
        let begun = Instant::now();
        while let Some(left) = fs_err::read_dir(home.join("sandboxes"))?.next() {
            let left = left?.path();
            ensure!(
                begun.elapsed() < REMOVED_TIMEOUT,
                "a sandbox is left: {:?}",
                files(&left)
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

/// Returns the files of a sandbox's directory, for a message.
fn files(directory: &Path) -> Result<Vec<std::path::PathBuf>> {
    let files = fs_err::read_dir(directory)?;
    files.map(|file| Ok(file?.path())).collect()
}

async fn check(world: &World, behaviour: &Behaviour) -> Result<()> {
    let id = &behaviour.id;
    let guest = format!("/tmp/{id}");
    let host = Path::new(world.variables["host"].as_str().context("no host")?).join(id);
    fs_err::create_dir_all(&host)?;
    let mut variables = world.variables.clone();
    variables.insert("guest".to_owned(), guest.clone().into());
    variables.insert("host".to_owned(), host.display().to_string().into());
    variables.insert("unique".to_owned(), format!("c-{id}").into());
    world.sandboxes["main"].files().mkdir(guest).await?;
    let mut stage = Stage {
        msb: &world.msb,
        settings: &world.settings,
        defaults: &world.defaults,
        sandboxes: &world.sandboxes,
        variables,
        made: Vec::new(),
        jobs: BTreeMap::new(),
        listeners: Vec::new(),
        servers: JoinSet::new(),
    };
    let mut outcome = Ok(());
    for (index, template) in behaviour.steps.iter().enumerate() {
        let step = filled(template, &stage.variables);
        outcome = check_step(&mut stage, &step).await;
        if outcome.is_err() {
            outcome = outcome.with_context(|| format!("step {}, {}", index + 1, step["do"]));
            break;
        }
    }
    stage.close().await;
    outcome
}

async fn check_step(stage: &mut Stage<'_>, step: &Value) -> Result<()> {
    match (perform(stage, step).await, step.get("error")) {
        (Ok(result), None) => check_result(&result, &step["expect"]),
        (Ok(_), Some(expected)) => bail!("it succeeded, and {} was expected", expected["kind"]),
        (Err(StepError::Sdk(error)), Some(expected)) => check_error(&error, expected),
        (Err(StepError::Sdk(error)), None) => Err(error.into()),
        (Err(StepError::Other(error)), _) => Err(error),
    }
}
