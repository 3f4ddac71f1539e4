use msb_runtime::network::{NetworkRules, Settings};
use msb_runtime::{Sandbox, Spec};
use tokio::task::spawn_blocking;

use crate::announcement::{Announced, Announcement, request};
use crate::{NetworkChange, NetworkPolicy, NetworkRulesError};

/// The most times that newer rules are sent to a machine that an older msb has started. Each time, another change has been
/// kept meanwhile.
const ROUNDS_MAX: usize = 16;

/// Returns the rules of a sandbox's network. Blocks.
///
/// # Errors
/// If the description cannot be read.
pub fn show(sandbox: &Sandbox) -> Result<NetworkPolicy, NetworkRulesError> {
    let spec = current(sandbox)?;
    Ok(NetworkPolicy::new(spec.network.as_ref()))
}

/// Changes the rules of a sandbox's network, which are kept with it. If the sandbox runs, its new connections follow
/// them once this returns; with `closes`, connections that are denied now end. Returns the sandbox with its new
/// description.
///
/// # Errors
/// If the sandbox has no network, or the rules cannot hold; if the description cannot be written, or the running
/// machine does not follow. The rules are unchanged then.
pub async fn change(
    sandbox: Sandbox,
    change: NetworkChange,
    closes: bool,
) -> Result<(Sandbox, NetworkPolicy), NetworkRulesError> {
    let announcement = announcement(&sandbox, closes).await?;
    let name = sandbox.spec.name.clone();
    let changed = move |settings: &Settings| change.apply(&name, settings);
    let (sandbox, kept) = blocking(move || keep(sandbox, announcement, changed)).await?;
    let Kept {
        before,
        after,
        announced,
    } = kept;
    if let Err(error) = followed(&sandbox, after.clone(), announced, closes).await {
        // The first error says more than one of this. A machine that is only late has the new rules on their way.
        let _ = restore(sandbox, after, before).await;
        return Err(error);
    }
    let policy = NetworkPolicy::new(sandbox.spec.network.as_ref());
    Ok((sandbox, policy))
}

/// Rules that were kept with a sandbox.
struct Kept {
    before: NetworkRules,
    after: NetworkRules,
    /// The machine that waits to follow them; `None` if none does.
    announced: Option<Announced>,
}

async fn announcement(sandbox: &Sandbox, closes: bool) -> Result<Announcement, NetworkRulesError> {
    let looked = sandbox.clone();
    let is_up = blocking(move || is_up(&looked)).await?;
    Announcement::new(sandbox, is_up, closes).await
}

/// Announces rules to the machine that are made of the present settings, and keeps them with the sandbox. Nothing is kept
/// that the machine refuses.
fn keep(
    mut sandbox: Sandbox,
    announcement: Announcement,
    rules: impl FnOnce(&Settings) -> Result<NetworkRules, NetworkRulesError>,
) -> Result<(Sandbox, Kept), NetworkRulesError> {
    let mut changed = Err(NetworkRulesError::NoNetwork {
        sandbox: sandbox.spec.name.clone(),
    });
    sandbox.change_description(|spec| {
        if let Some(settings) = &mut spec.network {
            changed = rules(settings).and_then(|after| {
                let announced = announcement.make(&after)?;
                let before = settings.rules();
                settings.set_rules(after.clone());
                Ok(Kept {
                    before,
                    after,
                    announced,
                })
            });
        }
        Ok(())
    })?;
    Ok((sandbox, changed?))
}

/// Keeps the rules before again, unless others were kept meanwhile, and has the machine follow those that are kept then.
async fn restore(
    sandbox: Sandbox,
    kept: NetworkRules,
    before: NetworkRules,
) -> Result<(), NetworkRulesError> {
    let announcement = announcement(&sandbox, false).await?;
    let restored = move |settings: &Settings| {
        let newest = settings.rules();
        Ok(if newest == kept { before } else { newest })
    };
    let (sandbox, kept) = blocking(move || keep(sandbox, announcement, restored)).await?;
    followed(&sandbox, kept.after, kept.announced, false).await
}

/// Waits until the running machine follows the rules that are kept.
async fn followed(
    sandbox: &Sandbox,
    kept: NetworkRules,
    announced: Option<Announced>,
    closes: bool,
) -> Result<(), NetworkRulesError> {
    match announced {
        Some(announced) => announced.kept().await,
        None => follow(sandbox, kept, closes).await,
    }
}

/// Has the running machine follow the rules that are kept. Another process may keep others meanwhile, and the last ones
/// count.
async fn follow(
    sandbox: &Sandbox,
    mut kept: NetworkRules,
    closes: bool,
) -> Result<(), NetworkRulesError> {
    for _ in 0..ROUNDS_MAX {
        let looked = sandbox.clone();
        if !blocking(move || is_up(&looked)).await? {
            return Ok(());
        }
        let mut client = sandbox.connect_supervisor().await?;
        let sent = client.change_network(request(&kept, closes)).await;
        sent.map_err(NetworkRulesError::Machine)?;
        let looked = sandbox.clone();
        let spec = blocking(move || current(&looked)).await?;
        let newest = spec.network.as_ref().map(Settings::rules);
        match newest {
            Some(newest) if newest != kept => kept = newest,
            _ => return Ok(()),
        }
    }
    Ok(())
}

fn is_up(sandbox: &Sandbox) -> Result<bool, NetworkRulesError> {
    let state = sandbox.state();
    let state = state.map_err(|source| unreadable(sandbox, source))?;
    Ok(state.is_up())
}

/// Reads the description again: another process may have changed it.
fn current(sandbox: &Sandbox) -> Result<Spec, NetworkRulesError> {
    Spec::read(sandbox.directory()).map_err(|source| unreadable(sandbox, source))
}

fn unreadable(sandbox: &Sandbox, source: std::io::Error) -> NetworkRulesError {
    NetworkRulesError::Unreadable {
        sandbox: sandbox.spec.name.clone(),
        source,
    }
}

/// Runs work that blocks on the host's files.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NetworkRulesError> + Send + 'static,
) -> Result<T, NetworkRulesError> {
    let done = spawn_blocking(work).await;
    done.unwrap_or(Err(NetworkRulesError::BrokenOff))
}
