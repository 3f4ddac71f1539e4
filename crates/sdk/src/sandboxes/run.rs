//! A new sandbox, started or not.

use std::sync::Arc;

use msb_client::Shared;
use msb_images::Observer;
use msb_runtime::Sandbox as StoredSandbox;

use super::create::{self, Created, verify_mode};
use super::start::{self, Booted};
use super::{Sandbox, SandboxOptions};
use crate::{Error, Operation, StartOptions, TerminalSize};

/// The receiver of a new sandbox's id. Its error is a message.
pub(super) type CreatedObserver = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;
/// The receivers of a pull's events and of a new sandbox's id.
pub(super) type Observers = (Option<Observer>, Option<CreatedObserver>);

/// Passes the id of a new sandbox on. The sandbox is removed if that fails.
async fn announced(created: Created, watch: Option<CreatedObserver>) -> Result<Created, Error> {
    let (Some(watch), Some(sandbox)) = (watch, created.sandbox()) else {
        return Ok(created);
    };
    let id = sandbox.spec.id.to_string();
    match msb_client::blocking(move || watch(&id).map_err(Error::invalid)).await {
        Ok(()) => Ok(created),
        Err(error) => {
            created.remove().await;
            Err(error)
        }
    }
}

/// Creates a sandbox, which is kept and not started.
pub(super) fn create(
    shared: Arc<Shared>,
    options: SandboxOptions,
    (observer, watch_id): Observers,
) -> Operation<Sandbox> {
    Operation::new(async move {
        let created = create::create(&shared, options, observer.as_ref(), None).await?;
        let mut created = announced(created, watch_id).await?;
        let mut warnings = shared.take_notices();
        warnings.extend(created.warnings.iter().cloned());
        let given = std::mem::take(&mut created.given);
        let kept = created.keep().ok_or_else(super::no_lock)?;
        let sandbox = Sandbox::kept(shared, kept.0, warnings);
        sandbox.handle().give(given);
        Ok(sandbox)
    })
}

/// Creates and starts a sandbox. With `is_owned` it ends with its handle.
pub(super) fn run(
    shared: Arc<Shared>,
    options: SandboxOptions,
    (observer, watch_id): Observers,
    is_owned: bool,
) -> Operation<Sandbox> {
    Operation::new(async move {
        let start_options = options.start.clone();
        let window = start_options.window.or(options.tty);
        let verify = verify_mode(start_options.verify);
        let created = create::create(&shared, options, observer.as_ref(), Some(verify)).await?;
        let created = announced(created, watch_id).await?;
        start_created(&shared, created, &start_options, window, is_owned).await
    })
}

/// Starts a new sandbox, which is removed if that fails. With `is_owned` it ends with its handle.
pub(super) async fn start_created(
    shared: &Arc<Shared>,
    mut created: Created,
    options: &StartOptions,
    window: Option<TerminalSize>,
    is_owned: bool,
) -> Result<Sandbox, Error> {
    let lock = created.take_lock().ok_or_else(super::no_lock)?;
    let sandbox = created.sandbox().cloned().ok_or_else(super::no_lock)?;
    let starting = start::Start {
        shared,
        sandbox: &sandbox,
        image: created.image.as_ref(),
        options,
        given: &created.given,
        window,
        is_owned,
    };
    let booted = match starting.boot(lock).await {
        Ok(booted) => booted,
        Err(error) => {
            // A command that has run leaves its sandbox, for its output and its files.
            if !is_owned && has_run(&sandbox).await {
                let _ = created.keep_sandbox();
            }
            created.remove().await;
            return Err(error);
        }
    };
    let Booted {
        mut running,
        warnings,
    } = booted;
    let owner = running.take_owner();
    let mut all = shared.take_notices();
    all.extend(created.warnings.iter().cloned());
    all.extend(warnings);
    let handle = Sandbox::started(shared.clone(), sandbox, running, all).await;
    if let Some(owner) = owner {
        handle.own(owner);
    }
    let _ = created.keep_sandbox();
    Ok(handle)
}

/// Returns true if the sandbox's command has run.
async fn has_run(sandbox: &StoredSandbox) -> bool {
    let sandbox = sandbox.clone();
    let exit = msb_client::blocking(move || Ok::<_, Error>(sandbox.first_exit()));
    exit.await.is_ok_and(|exit| exit.is_some())
}
