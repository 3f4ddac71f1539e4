//! Rules of directories of the host that change after the sandbox was made, and the files that they let in.
//!
//! The process that serves a shared directory follows a rule at once. Of a staged directory, a running sandbox gets
//! the files of a path that becomes readable through its agent, as they are on the host at that moment. An image
//! beside the sandbox keeps them, because they are a part of what the sandbox's changes are compared with.

mod error;
mod found;
mod images;
mod let_in;
mod place;

use msb_agent_protocol::Client;
use msb_runtime::{Rule, RuleState, Sandbox, Spec, UpdateError};

pub use error::AllowError;
use found::Found;
use let_in::{blocking, let_in};
use place::Place;

use crate::files::SandboxFiles;

/// A state that a path of a directory of the host is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The path in the sandbox: absolute, or relative to the only staged directory, or to the only shared one if none
    /// is staged.
    pub path: Vec<u8>,
    /// The state that its paths are to have.
    pub state: RuleState,
    /// True if the rule is kept. Otherwise only files of a staged directory are let in.
    pub is_kept: bool,
}

/// The effect of a changed rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// The rule, relative to the directory.
    pub rule: Rule,
    /// The paths in the sandbox of the files that were let in, without those in directories among them.
    pub let_in: Vec<Vec<u8>>,
    /// The paths of files that the sandbox has already, of its own, which stay as they are.
    pub present: Vec<Vec<u8>>,
}

/// Gives a path of a directory of the host another state. If the sandbox runs, `client` is connected with it. A rule of
/// a shared directory holds from the next access on. Files of a staged one that become readable are copied into the
/// sandbox; those that are in it already stay, whatever the state is, and on the way out the new rule holds from now
/// on. Returns the sandbox with the rule, too.
///
/// # Errors
/// If the path is in no staged or shared directory or has wildcards, the shared directory has no rules, there are too
/// many rules or files, a file of the host cannot be read, or the sandbox does not take the rule or the files. The rule
/// is not kept then.
pub async fn allow(
    sandbox: Sandbox,
    client: Option<Client>,
    permission: Permission,
) -> Result<(Sandbox, Allowed), AllowError> {
    // Another process may have changed the rules since the sandbox was read.
    let read = move || match Spec::read(&sandbox.files.directory) {
        Ok(spec) => Ok(Sandbox { spec, ..sandbox }),
        Err(source) => Err(AllowError::from(UpdateError::Io {
            name: sandbox.spec.name.clone(),
            source,
        })),
    };
    let mut sandbox = blocking(read).await?;
    let place = Place::find(&sandbox, &permission)?;
    let mut allowed = Allowed {
        rule: place.rule.clone(),
        let_in: Vec::new(),
        present: Vec::new(),
    };
    match client {
        Some(mut client) if place.is_shared && permission.is_kept => {
            let changed = client.change_rule(place.target.as_str(), place.rule_text());
            changed.await.map_err(AllowError::Share)?;
        }
        Some(client) if !place.is_shared && shows(permission.state) => {
            let files = SandboxFiles::from_running(&sandbox.spec.name, client);
            let (with_files, place) = (sandbox.clone(), place.clone());
            let found = blocking(move || Found::new(with_files, place)).await?;
            let_in(&files, found, &mut allowed).await?;
        }
        _ => {}
    }
    if permission.is_kept {
        let Place { target, rule, .. } = place;
        let keep = move || sandbox.keep_rule(&target, rule).map(|()| sandbox);
        sandbox = blocking(move || keep().map_err(AllowError::from)).await?;
    }
    Ok((sandbox, allowed))
}

/// Returns the state that a path gets which a question was about, if the answer holds from then on. `kind` is the word
/// of the question's kind: of a file that is there already, a yes permits what was asked for, and a no forbids it.
pub fn lasting_state(kind: &str, is_allowed: bool) -> RuleState {
    match (kind, is_allowed) {
        ("read", true) => RuleState::WriteAsk,
        ("read", false) => RuleState::Deny,
        ("change", false) => RuleState::ReadOnly,
        (_, true) => RuleState::Allow,
        (_, false) => RuleState::Hide,
    }
}

/// Returns true if the files of a path in this state are in the sandbox.
const fn shows(state: RuleState) -> bool {
    matches!(
        state,
        RuleState::Allow | RuleState::WriteAsk | RuleState::ReadOnly
    )
}

#[cfg(test)]
mod tests;
