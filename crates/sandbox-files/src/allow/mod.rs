//! Rules of staged directories that change after the sandbox was made, and the files that they let in.
//!
//! A running sandbox gets the files of a path that becomes readable through its agent, as they are on the host at
//! that moment. An image beside the sandbox keeps them, because they are a part of what the sandbox's changes are
//! compared with.

mod error;
mod found;
mod images;
mod let_in;

use msb_agent_protocol::Client;
use msb_runtime::{Rule, RuleState, Sandbox, Spec, UpdateError, staged};
use path_rules::Pattern;

pub use error::AllowError;
use found::Found;
use let_in::{blocking, let_in};

use crate::files::SandboxFiles;

/// A state that a path of a staged directory is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The path in the sandbox: absolute, or relative to the only staged directory.
    pub path: Vec<u8>,
    /// The state that its paths are to have.
    pub state: RuleState,
    /// True if the rule is kept in the sandbox's description. Otherwise only its files are let in.
    pub is_kept: bool,
}

/// The effect of a changed rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// The rule, relative to the staged directory.
    pub rule: Rule,
    /// The paths in the sandbox of the files that were let in, without those in directories among them.
    pub let_in: Vec<Vec<u8>>,
    /// The paths of files that the sandbox has already, of its own, which stay as they are.
    pub present: Vec<Vec<u8>>,
}

/// The staged directory that a path is in.
#[derive(Debug, Clone)]
struct Place {
    /// The number of the directory.
    number: usize,
    /// The directory's path in the sandbox.
    target: Vec<u8>,
    /// The path below it; empty for the directory itself.
    path: Vec<u8>,
    rule: Rule,
}

/// Gives a path of a staged directory another state. If the sandbox runs, `client` is connected with it: files
/// that become readable are copied into it. Those that are in it already stay, whatever the state is; on the way
/// out the new rule holds from now on. Returns the sandbox with the rule, too.
///
/// # Errors
/// If the path is in no staged directory or has wildcards, there are too many rules or files, a file of the host
/// cannot be read, or the sandbox does not take it. The rule is not kept then.
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
    if let Some(client) = client.filter(|_| shows(permission.state)) {
        let files = SandboxFiles::from_running(&sandbox.spec.name, client);
        let (with_files, place) = (sandbox.clone(), place.clone());
        let found = blocking(move || Found::new(with_files, place)).await?;
        let_in(&files, found, &mut allowed).await?;
    }
    if permission.is_kept {
        let (number, rule) = (place.number, place.rule);
        let keep = move || sandbox.keep_rule(number, rule).map(|()| sandbox);
        sandbox = blocking(move || keep().map_err(AllowError::from)).await?;
    }
    Ok((sandbox, allowed))
}

/// Returns true if the files of a path in this state are in the sandbox.
const fn shows(state: RuleState) -> bool {
    matches!(
        state,
        RuleState::Allow | RuleState::WriteAsk | RuleState::ReadOnly
    )
}

impl Place {
    fn find(sandbox: &Sandbox, permission: &Permission) -> Result<Self, AllowError> {
        let path = &permission.path;
        let all: Vec<_> = staged(&sandbox.spec.mounts).collect();
        let targets = || all.iter().map(|(mount, _)| mount.target.to_string());
        let outside = || AllowError::Outside {
            name: sandbox.spec.name.clone(),
            path: path.clone(),
            targets: targets().collect(),
        };
        if path.iter().any(|byte| matches!(byte, b'*' | b'?' | 0)) {
            return Err(AllowError::Wildcard { path: path.clone() });
        }
        let absolute = match &all[..] {
            [(mount, _)] if !path.starts_with(b"/") => {
                [mount.target.as_str().as_bytes(), b"/", path].concat()
            }
            _ => path.clone(),
        };
        let names = plain_names(&absolute).ok_or_else(outside)?;
        let is_in = |target: &[u8]| {
            let target: Vec<&[u8]> = target.split(|&byte| byte == b'/').skip(1).collect();
            names.starts_with(&target).then_some(target.len())
        };
        let mut found = all.iter().enumerate();
        let found = found.find_map(|(number, (mount, _))| {
            let target = mount.target.as_str().as_bytes();
            is_in(target).map(|depth| (number, target, depth))
        });
        let (number, target, depth) = found
            .filter(|_| absolute.starts_with(b"/"))
            .ok_or_else(outside)?;
        let path = names[depth..].join(&b'/');
        let pattern = Pattern::parse(&[b"/", &path[..]].concat())?;
        Ok(Self {
            number,
            target: target.to_vec(),
            path,
            rule: Rule::new(pattern, permission.state),
        })
    }

    /// Returns the path in the sandbox of a file of the staged directory.
    fn in_sandbox(&self, path: &[u8]) -> Vec<u8> {
        [&self.target[..], b"/", path].concat()
    }
}

/// Returns the names of an absolute path; `None` if it leads above the root.
fn plain_names(path: &[u8]) -> Option<Vec<&[u8]>> {
    let mut names = Vec::new();
    for name in path.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests;
