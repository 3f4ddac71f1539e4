use msb_agent_protocol::v1::ChangeNetworkRequest;
use msb_runtime::network::{NetworkRules, Settings};
use msb_runtime::{Sandbox, Spec};
use tokio::task::spawn_blocking;

use crate::{NetworkChange, NetworkPolicy, NetworkRulesError};

/// The most times that newer rules are sent. Each time, another change has been kept meanwhile.
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
    let (sandbox, before, kept) = blocking(move || keep(sandbox, change)).await?;
    if let Err(error) = follow(&sandbox, kept.clone(), closes).await {
        let known = sandbox.clone();
        let restored = blocking(move || restore(sandbox, &kept, before)).await;
        // The first error says more than one of this. A machine that is only late has the new rules on their way.
        if let (NetworkRulesError::Machine(_), Ok(Some(newest))) = (&error, restored) {
            let _ = follow(&known, newest, false).await;
        }
        return Err(error);
    }
    let policy = NetworkPolicy::new(sandbox.spec.network.as_ref());
    Ok((sandbox, policy))
}

/// Keeps changed rules with the sandbox. Returns it, the rules before, and the new ones.
fn keep(
    mut sandbox: Sandbox,
    change: NetworkChange,
) -> Result<(Sandbox, NetworkRules, NetworkRules), NetworkRulesError> {
    let name = sandbox.spec.name.clone();
    let mut changed = Err(NetworkRulesError::NoNetwork {
        sandbox: name.clone(),
    });
    sandbox.change_description(|spec| {
        if let Some(settings) = &mut spec.network {
            changed = change.apply(&name, settings).map(|rules| {
                let before = settings.rules();
                settings.set_rules(rules.clone());
                (before, rules)
            });
        }
        Ok(())
    })?;
    let (before, after) = changed?;
    Ok((sandbox, before, after))
}

/// Keeps the rules before again, unless others were kept meanwhile. Returns those that are kept now.
fn restore(
    mut sandbox: Sandbox,
    kept: &NetworkRules,
    before: NetworkRules,
) -> Result<Option<NetworkRules>, NetworkRulesError> {
    let mut newest = None;
    sandbox.change_description(|spec| {
        if let Some(settings) = &mut spec.network {
            if settings.rules() == *kept {
                settings.set_rules(before);
            }
            newest = Some(settings.rules());
        }
        Ok(())
    })?;
    Ok(newest)
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

fn request(rules: &NetworkRules, closes: bool) -> ChangeNetworkRequest {
    ChangeNetworkRequest {
        mode: rules.reach.to_string(),
        allow: rules.allow_texts(),
        deny: rules.deny_texts(),
        closes,
    }
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
