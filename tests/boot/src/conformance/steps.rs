//! The steps of behaviours, carried out with the SDK.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use msb_sdk::{
    Bytes, Changes, Force, ForkOptions, Job, LogOptions, Logs, MkdirOptions, Msb, PullOptions,
    RemoveOptions, Sandbox, SandboxFilter, SandboxOptions, Settings, Text, VolumeOptions,
    WriteOptions,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::data::{self, Variables, bytes, named};
use super::expectation::{Field, Fields, plain};
use super::{changes, commands, http, network, secrets, snapshots};

/// The time in which a condition has to become true.
const EVENTUALLY_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The failure of a step.
#[derive(Debug)]
pub(super) enum StepError {
    /// The SDK's error, which may be the expected one.
    Sdk(msb_sdk::Error),
    /// A fault of the driver or of the data.
    Other(anyhow::Error),
}

impl From<msb_sdk::Error> for StepError {
    fn from(error: msb_sdk::Error) -> Self {
        Self::Sdk(error)
    }
}

impl From<anyhow::Error> for StepError {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

/// The world of one behaviour, and what its steps made.
pub(super) struct Stage<'a> {
    pub(super) msb: &'a Msb,
    pub(super) settings: &'a Settings,
    pub(super) defaults: &'a Value,
    pub(super) sandboxes: &'a BTreeMap<&'static str, Sandbox>,
    pub(super) variables: Variables,
    pub(super) made: Vec<(String, Sandbox)>,
    pub(super) jobs: BTreeMap<String, Job>,
    pub(super) listeners: Vec<TcpListener>,
    pub(super) servers: JoinSet<()>,
}

impl Stage<'_> {
    /// Returns the sandbox that a step names.
    pub(super) fn sandbox(&self, step: &Value) -> Result<&Sandbox> {
        let name = step["sandbox"].as_str().unwrap_or("main");
        let made = self.made.iter().find(|(made, _)| made == name);
        let found = made
            .map(|(_, sandbox)| sandbox)
            .or_else(|| self.sandboxes.get(name));
        found.with_context(|| format!("no sandbox {name}"))
    }

    /// Removes what the steps made.
    pub(super) async fn close(self) {
        for (_, sandbox) in self.made {
            // A step may have removed it.
            let _ = sandbox.remove(Force::Yes).await;
        }
    }

    /// Returns a client with other settings. Without any, it is the client of all steps.
    fn client(&self, settings: &Value) -> Result<Msb, StepError> {
        if settings.is_null() {
            return Ok(self.msb.clone());
        }
        let mut merged = serde_json::to_value(self.settings).map_err(anyhow::Error::from)?;
        for (name, value) in settings.as_object().into_iter().flatten() {
            merged[name] = value.clone();
        }
        Ok(Msb::with_settings(read::<Settings>(merged)?)?)
    }

    fn options(&self, step: &Value) -> Result<SandboxOptions> {
        let mut options = self.defaults.clone();
        if let Some(image) = step["image"].as_str() {
            options["image"] = image.into();
        }
        for (name, value) in step["options"].as_object().into_iter().flatten() {
            options[name] = value.clone();
        }
        Ok(serde_json::from_value(options)?)
    }

    /// Returns the options, or the SDK's own error for those that cannot be read.
    fn checked_options(&self, step: &Value) -> Result<SandboxOptions, StepError> {
        // Typed callers cannot write a wrong size; the text form is what refuses it.
        if let Some(size) = step["options"]["memory"].as_str() {
            size.parse::<msb_sdk::Size>()
                .map_err(msb_sdk::Error::from)?;
        }
        // Nor a forward that is none.
        for text in step["options"]["sockets"].as_array().into_iter().flatten() {
            let text = text.as_str().context("a socket without text")?;
            text.parse::<msb_sdk::SocketForward>()
                .map_err(msb_sdk::Error::from)?;
        }
        Ok(self.options(step)?)
    }
}

/// Carries out a step, and returns the fields of its result.
pub(super) async fn perform(stage: &mut Stage<'_>, step: &Value) -> Result<Fields, StepError> {
    let name = step["do"].as_str().context("a step without do")?;
    match name {
        "exec" | "shell" => commands::exec(stage.sandbox(step)?, step).await,
        "poll_shell" => poll(stage, step).await,
        "kill_during" => kill_during(stage.sandbox(step)?, step).await,
        "diff" => changes::of_sandbox(stage.sandbox(step)?, step).await,
        "diff_between" => changes::between(stage.msb, step).await,
        "discard" => changes::discard(stage.sandbox(step)?, step).await,
        "apply" => changes::apply(stage.sandbox(step)?, step).await,
        "allow" => changes::allow(stage.sandbox(step)?, step).await,
        "ask" => changes::ask(stage.sandbox(step)?, step).await,
        "restage" => changes::restage(stage.sandbox(step)?, step).await,
        "commit" => changes::commit(stage.sandbox(step)?, step).await,
        "spawn" => commands::spawn(stage.sandbox(step)?, step).await,
        "network_log" => commands::network_log(stage.sandbox(step)?, step).await,
        "host_write" | "host_read" => host_file(step),
        "listen" => listen(stage, step).await,
        "http_get" => http::get(stage.sandbox(step)?, step).await,
        "fork" => fork(stage, step).await,
        "rollback" => snapshots::rollback(stage.sandbox(step)?, step).await,
        "history" => snapshots::history(stage.sandbox(step)?, step).await,
        "undo" => snapshots::undo(stage.sandbox(step)?, step).await,
        _ if name.starts_with("snapshot_") => snapshots::perform(stage.sandbox(step)?, step).await,
        _ if name.starts_with("network_") => network::perform(stage.sandbox(step)?, step).await,
        _ if name.starts_with("secret_") => secrets::perform(stage.sandbox(step)?, step).await,
        _ if name.starts_with("job_") => job(stage, step).await,
        _ if name.starts_with("image_") || name.starts_with("volume_") => stored(stage, step).await,
        "write" | "read" | "list" | "stat" | "exists" | "mkdir" | "remove" | "rename" | "chmod"
        | "upload" | "download" => file(stage.sandbox(step)?, step).await,
        _ => sandbox(stage, step).await,
    }
}

async fn poll(stage: &Stage<'_>, step: &Value) -> Result<Fields, StepError> {
    let wanted = bytes(&step["expect"]["stdout"])?;
    let end = tokio::time::Instant::now() + EVENTUALLY_TIMEOUT;
    loop {
        let shell = json!({"do": "shell", "text": step["text"]});
        let fields = commands::exec(stage.sandbox(step)?, &shell).await?;
        let is_equal = matches!(fields.get("stdout"), Some(Field::Data(found)) if *found == wanted);
        if is_equal || tokio::time::Instant::now() > end {
            return Ok(fields);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Kills the sandbox while a command runs in it.
async fn kill_during(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let killing = async {
        while !sandbox.files().exists(text(step, "begun")?).await? {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        sandbox.kill().await?;
        Ok::<_, StepError>(())
    };
    let shell = json!({"do": "shell", "text": step["text"]});
    let (outcome, killed) = tokio::join!(commands::exec(sandbox, &shell), killing);
    killed?;
    outcome
}

async fn file(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let files = match step["snapshot"].as_str() {
        Some(snapshot) => sandbox.snapshots().files(snapshot),
        None => sandbox.files(),
    };
    let flag = |name: &str| step[name] == true;
    let mode = step["mode"]
        .as_u64()
        .and_then(|mode| u32::try_from(mode).ok());
    let host = || step["host"].as_str().unwrap_or_default();
    match word(step, "do")? {
        "read" => {
            let content = files.read(text(step, "path")?).await?;
            return Ok(Fields::from([("data", Field::Data(content))]));
        }
        "list" => {
            let entries = files.list(text(step, "path")?).await?;
            let names = entries.iter().map(|entry| named(&entry.name));
            let types = entries.iter().map(|entry| json!(entry.file_type));
            return Ok(Fields::from([
                ("count", plain(entries.len())),
                ("names", plain(names.collect::<Result<Vec<_>>>()?)),
                ("types", plain(types.collect::<Vec<_>>())),
            ]));
        }
        "stat" => {
            let follow = step["follow"] != false;
            let info = files.stat_with(text(step, "path")?, follow).await?;
            return Ok(Fields::from([
                ("type", plain(json!(info.file_type))),
                ("size_bytes", plain(info.size_bytes)),
                ("mode", plain(info.mode)),
                ("target", plain(json!(info.target))),
            ]));
        }
        "exists" => {
            let exists = files.exists(text(step, "path")?).await?;
            return Ok(Fields::from([("value", plain(exists))]));
        }
        "write" => {
            let mut options = WriteOptions::default();
            options.mode = mode;
            options.parents = flag("parents");
            let content = bytes(&step["data"])?;
            files
                .write_with(text(step, "path")?, content, options)
                .await?;
        }
        "mkdir" => {
            let mut options = MkdirOptions::default();
            options.parents = flag("parents");
            files.mkdir_with(text(step, "path")?, options).await?;
        }
        "remove" => {
            let mut options = RemoveOptions::default();
            options.recursive = flag("recursive");
            options.missing_ok = flag("missing_ok");
            files.remove_with(text(step, "path")?, options).await?;
        }
        "rename" => files.rename(text(step, "from")?, text(step, "to")?).await?,
        "chmod" => {
            let mode = mode.context("no mode")?;
            files.chmod(text(step, "path")?, mode).await?;
        }
        "upload" => drop(files.upload(host(), text(step, "guest")?).await?),
        "download" => drop(files.download(text(step, "guest")?, host()).await?),
        other => return Err(no_step(other)),
    }
    Ok(Fields::new())
}

async fn job(stage: &mut Stage<'_>, step: &Value) -> Result<Fields, StepError> {
    let sandbox = stage.sandbox(step)?;
    if step["do"] == "job_start" {
        let started = sandbox.jobs().start(commands::argv(step)?).await?;
        stage.jobs.insert(word(step, "as")?.to_owned(), started);
        return Ok(Fields::new());
    }
    if step["do"] == "job_list" {
        let jobs = sandbox.jobs().list().await?;
        let is_listed = |job: &&Job| jobs.iter().any(|info| info.id == job.id());
        let has = stage.jobs.iter().filter(|(_, job)| is_listed(job));
        let names: Vec<&str> = has.map(|(name, _)| name.as_str()).collect();
        return Ok(Fields::from([("has", plain(names.join(" ")))]));
    }
    let by_id = step["id"].as_u64().map(|id| sandbox.jobs().job(id));
    let started = step["job"].as_str().and_then(|name| stage.jobs.get(name));
    let job = by_id.as_ref().or(started).context("no job")?;
    match word(step, "do")? {
        "job_wait" => {
            let exit = job.wait().await?;
            Ok(Fields::from([("exit_code", plain(exit.code))]))
        }
        "job_kill" => {
            job.kill().await?;
            Ok(Fields::new())
        }
        "job_logs" => collected(job.logs().await?).await,
        other => Err(no_step(other)),
    }
}

async fn collected(logs: Logs) -> Result<Fields, StepError> {
    let mut data = Vec::new();
    while let Some(record) = logs.next().await? {
        data.extend_from_slice(&record.data);
    }
    Ok(Fields::from([("data", Field::Data(data.into()))]))
}

async fn stored(stage: &Stage<'_>, step: &Value) -> Result<Fields, StepError> {
    let name = word(step, "name")?;
    let msb = stage.client(&step["client"])?;
    let (images, volumes) = (msb.images(), msb.volumes());
    match word(step, "do")? {
        "image_get" => drop(images.get(name).await?),
        "image_remove" => drop(images.remove(name, Force::No).await?),
        "image_tag" => images.tag(name, word(step, "to")?).await?,
        "image_save" => images.save([name], word(step, "path")?).await?,
        "image_history" => {
            let steps = images.history(name).await?;
            let last = steps.into_iter().next();
            let comment = last.and_then(|step| step.comment);
            return Ok(Fields::from([("comment", plain(json!(comment)))]));
        }
        "image_pull" => {
            let mut options = step["options"].clone();
            options["name"] = name.into();
            drop(images.pull_with(read::<PullOptions>(options)?).await?);
        }
        "volume_get" => drop(volumes.get(name).await?),
        "volume_create" => {
            let options = read::<VolumeOptions>(json!({ "name": name }))?;
            drop(volumes.create_with(options).await?);
        }
        "volume_remove" => volumes.remove(name).await?,
        other => return Err(no_step(other)),
    }
    Ok(Fields::new())
}

async fn sandbox(stage: &mut Stage<'_>, step: &Value) -> Result<Fields, StepError> {
    match word(step, "do")? {
        "inspect" => {
            let info = stage.sandbox(step)?.inspect().await?;
            return Ok(Fields::from([
                ("name", plain(info.name)),
                ("state", plain(json!(info.state))),
                ("labels", plain(json!(info.labels))),
                ("cpus", plain(info.cpus)),
            ]));
        }
        "list_sandboxes" => {
            let filter = read::<SandboxFilter>(json!({ "labels": step["labels"] }))?;
            let infos = stage.msb.sandboxes().list(filter).await?;
            let names: Vec<String> = infos.into_iter().map(|info| info.name).collect();
            return Ok(Fields::from([("names", plain(names))]));
        }
        "get" => drop(stage.msb.sandboxes().get(word(step, "name")?).await?),
        "run" | "create" | "client" => made(stage, step).await?,
        "import" => {
            let sandboxes = stage.msb.sandboxes();
            let importing = sandboxes.import_snapshot(word(step, "path")?, step["name"].as_str());
            let sandbox = importing.await?;
            let name = step["as"].as_str().unwrap_or_default().to_owned();
            stage.made.push((name, sandbox));
        }
        "wait" => {
            let exit = stage.sandbox(step)?.wait().await?;
            return Ok(Fields::from([("exit_code", plain(exit.code))]));
        }
        "start" => drop(stage.sandbox(step)?.start().await?),
        "close" => stage.sandbox(step)?.close().await?,
        "stop" => {
            let stopped = stage.sandbox(step)?.stop(None).await?;
            return Ok(Fields::from([("stopped", plain(json!(stopped)))]));
        }
        "pause" => stage.sandbox(step)?.pause().await?,
        "unpause" => stage.sandbox(step)?.unpause().await?,
        "update" => {
            let changes = read::<Changes>(json!({ "cpus": step["cpus"] }))?;
            stage.sandbox(step)?.update(changes).await?;
        }
        "rename_sandbox" => stage.sandbox(step)?.rename(word(step, "name")?).await?,
        "remove_sandbox" => stage.sandbox(step)?.remove(Force::No).await?,
        "logs" => {
            let source = step
                .get("source")
                .cloned()
                .unwrap_or_else(|| "output".into());
            let options = read::<LogOptions>(json!({ "source": source }))?;
            return collected(stage.sandbox(step)?.logs().with(options).await?).await;
        }
        other => return Err(no_step(other)),
    }
    Ok(Fields::new())
}

/// Makes forks of a sandbox, of which `as` names the first.
async fn fork(stage: &mut Stage<'_>, step: &Value) -> Result<Fields, StepError> {
    let options = json!({ "names": step["names"], "snapshot": step["snapshot"] });
    let options = read::<ForkOptions>(options)?;
    let forks = stage.sandbox(step)?.fork(options).await?;
    let fields = Fields::from([("count", plain(forks.len()))]);
    let mut name = step["as"].as_str().unwrap_or_default();
    for fork in forks {
        stage
            .made
            .push((std::mem::take(&mut name).to_owned(), fork));
    }
    Ok(fields)
}

/// Makes a sandbox, with a client of its own if the step has one.
async fn made(stage: &mut Stage<'_>, step: &Value) -> Result<(), StepError> {
    let is_client = step["do"] == "client";
    // The options of a client are its settings.
    let options = if is_client {
        stage.options(&json!({}))?
    } else {
        stage.checked_options(step)?
    };
    let settings = if is_client {
        &step["options"]
    } else {
        &step["client"]
    };
    if settings.is_object() {
        let msb = stage.client(settings)?;
        let sandbox = if is_client {
            msb.sandboxes().create_with(options).await?
        } else {
            msb.sandboxes().run_with(options).await?
        };
        sandbox.remove(Force::Yes).await?;
        return Ok(());
    }
    let sandboxes = stage.msb.sandboxes();
    let sandbox = if step["do"] == "run" {
        sandboxes.run_with(options).await?
    } else {
        sandboxes.create_with(options).await?
    };
    let name = step["as"].as_str().unwrap_or_default().to_owned();
    stage.made.push((name, sandbox));
    Ok(())
}

fn host_file(step: &Value) -> Result<Fields, StepError> {
    let path = std::path::Path::new(word(step, "path")?);
    if step["do"] == "host_read" {
        let content = fs_err::read(path).map_err(anyhow::Error::from)?;
        return Ok(Fields::from([("data", Field::Data(Bytes::from(content)))]));
    }
    let write = || -> Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        fs_err::create_dir_all(path.parent().context("a path without a directory")?)?;
        fs_err::write(path, data::bytes(&step["data"])?)?;
        if let Some(mode) = step["mode"].as_u64() {
            let mode = std::fs::Permissions::from_mode(u32::try_from(mode)?);
            fs_err::set_permissions(path, mode)?;
        }
        Ok(())
    };
    write()?;
    Ok(Fields::new())
}

/// Listens on a free port. With an answer, sends it to each request.
async fn listen(stage: &mut Stage<'_>, step: &Value) -> Result<Fields, StepError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.map_err(anyhow::Error::from)?;
    let port = listener.local_addr().map_err(anyhow::Error::from)?.port();
    let name = word(step, "as")?.to_owned();
    stage.variables.insert(name, port.into());
    if step["answer"].is_null() {
        stage.listeners.push(listener);
    } else {
        let answer = bytes(&step["answer"])?;
        stage.servers.spawn(http::answer_each(listener, answer));
    }
    Ok(Fields::new())
}

/// Reads a value of the SDK from its JSON.
pub(super) fn read<T: DeserializeOwned>(value: Value) -> Result<T> {
    Ok(serde_json::from_value(value)?)
}

/// Returns a parameter that is text.
pub(super) fn word<'a>(step: &'a Value, name: &str) -> Result<&'a str> {
    step[name]
        .as_str()
        .with_context(|| format!("a step without {name}"))
}

/// Returns a parameter that may be bytes.
pub(super) fn text(step: &Value, name: &str) -> Result<Text> {
    Ok(Text::from(bytes(&step[name])?))
}

fn no_step(name: &str) -> StepError {
    StepError::Other(anyhow!("this driver has no step '{name}'"))
}
