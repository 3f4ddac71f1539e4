use std::collections::BTreeMap;

use msb_runtime::{Sandbox, Spec};
use msb_secrets::{Secret, SecretName, SecretSource, SecretValue, resolve_one};

use crate::control::{self, ControlFailure, LastingValue};
use crate::info::SecretInfo;
use crate::prepare::make_absolute;
use crate::{SecretsError, recorded};

/// The new value of a secret.
#[derive(Debug, Clone, Default)]
pub enum NewValue {
    /// The value that the recorded source has now.
    #[default]
    Recorded,
    /// The value of another source, which later starts read, too.
    From(SecretSource),
    /// A value that is kept until the sandbox stops, or until the recorded source is read again.
    Given(SecretValue),
}

/// Returns the secrets of a sandbox, with their states if it is running. Blocks.
///
/// # Errors
/// If the description cannot be read, or the network process does not answer.
pub fn list(sandbox: &Sandbox) -> Result<Vec<SecretInfo>, SecretsError> {
    let spec = current(sandbox)?;
    let secrets = recorded(&spec);
    let mut states = BTreeMap::new();
    if !secrets.is_empty() && is_up(sandbox)? {
        let mut client = connect(sandbox)?;
        for state in control::states(&mut client)? {
            states.insert(state.name, state.state);
        }
    }
    let described = secrets.iter().map(|secret| {
        let state = states.get(&secret.name).copied();
        SecretInfo::new(secret, state)
    });
    Ok(described.collect())
}

/// Gives a secret another value. A sandbox that is not running can only be given another source. Blocks.
///
/// # Errors
/// If the sandbox has no such secret, or its source is read again while the sandbox runs and would change; if the
/// value cannot be read, the network process does not take it, or the description cannot be written.
pub fn set(sandbox: &mut Sandbox, name: &SecretName, new: NewValue) -> Result<(), SecretsError> {
    let mut secret = find(sandbox, name)?;
    let is_up = is_up(sandbox)?;
    let source = match new {
        NewValue::Recorded => None,
        NewValue::From(mut source) => {
            make_absolute(&mut source)?;
            secret.from = source.clone();
            Some(source)
        }
        NewValue::Given(value) => {
            secret.from = SecretSource::Given;
            secret.value = Some(value);
            // The refresh of another source, if there is one, replaces it.
            secret.every_s = None;
            None
        }
    };
    let names = || (sandbox.spec.name.clone(), name.to_string());
    if !is_up && source.is_none() {
        let (sandbox, secret) = names();
        return Err(SecretsError::NotRunning { sandbox, secret });
    }
    if is_up && source.is_some() && secret.every_s.is_some() {
        // The process that reads the source again knows the present one.
        let (sandbox, secret) = names();
        return Err(SecretsError::Refreshed { sandbox, secret });
    }
    if is_up {
        send(sandbox, &secret)?;
    }
    if let Some(source) = source {
        change(sandbox, |secrets| {
            for secret in secrets.iter_mut().filter(|secret| secret.name == *name) {
                secret.from = source.clone();
            }
        })?;
    }
    Ok(())
}

/// Removes a secret from a sandbox. In a running one, requests with its placeholder fail from now on. Blocks.
///
/// # Errors
/// If the sandbox has no such secret, the network process does not answer, or the description cannot be written.
pub fn remove(sandbox: &mut Sandbox, name: &SecretName) -> Result<(), SecretsError> {
    find(sandbox, name)?;
    if is_up(sandbox)? {
        control::remove(&mut connect(sandbox)?, name.clone())?;
    }
    change(sandbox, |secrets| {
        secrets.retain(|secret| secret.name != *name)
    })
}

fn send(sandbox: &Sandbox, secret: &Secret) -> Result<(), SecretsError> {
    let value = LastingValue {
        resolved: resolve_one(secret)?,
        expires_ms: secret.expires_ms(),
    };
    Ok(control::set(&mut connect(sandbox)?, value)?)
}

/// Changes the secrets in the description of a sandbox.
fn change(
    sandbox: &mut Sandbox,
    change: impl FnOnce(&mut Vec<Secret>),
) -> Result<(), SecretsError> {
    sandbox.change_description(|spec| {
        if let Some(network) = &mut spec.network {
            change(&mut network.secrets);
        }
        Ok(())
    })?;
    Ok(())
}

fn find(sandbox: &Sandbox, name: &SecretName) -> Result<Secret, SecretsError> {
    let spec = current(sandbox)?;
    let found = recorded(&spec).iter().find(|secret| secret.name == *name);
    found.cloned().ok_or_else(|| SecretsError::Missing {
        sandbox: spec.name.clone(),
        secret: name.to_string(),
    })
}

/// Reads the description again: another process may have changed it.
fn current(sandbox: &Sandbox) -> Result<Spec, SecretsError> {
    Spec::read(sandbox.directory()).map_err(|source| unreadable(sandbox, source))
}

fn is_up(sandbox: &Sandbox) -> Result<bool, SecretsError> {
    let state = sandbox.state();
    let state = state.map_err(|source| unreadable(sandbox, source))?;
    Ok(state.is_up())
}

fn connect(sandbox: &Sandbox) -> Result<msb_secrets::ControlClient, ControlFailure> {
    Ok(control::connect(&sandbox.files.secrets_socket())?)
}

fn unreadable(sandbox: &Sandbox, source: std::io::Error) -> SecretsError {
    SecretsError::Unreadable {
        sandbox: sandbox.spec.name.clone(),
        source,
    }
}

#[cfg(test)]
mod tests;
