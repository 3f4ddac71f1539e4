//! Changes of staged directories, put into the directories that they were made of.

use std::path::{Path, PathBuf};

use msb_runtime::{Mount, Sandbox as StoredSandbox, Staged, staged};
use msb_sandbox_files::{ChangeScope, StagedRules};
use serde::Serialize;

use super::{Applied, Target};
use crate::{ApplyOptions, Error, Operation, Sandbox};

/// Changes that were put into the directory of the host that a staged directory was made of, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AppliedDirectory {
    /// The path in the sandbox.
    pub target: String,
    /// The directory of the host.
    pub directory: PathBuf,
    /// The changes.
    #[serde(flatten)]
    pub applied: Applied,
}

impl Sandbox {
    /// Puts the changes of the sandbox's staged directories into the directories of the host that they were
    /// made of, and returns them in the order of their mounts. A file that the host changed meanwhile is a
    /// conflict; with one, or with a change that needs a yes, nothing is written to any directory. What a rule
    /// keeps back is listed. The options [`from`](ApplyOptions::from) and [`base`](ApplyOptions::base) are for
    /// [`Sandbox::apply`].
    ///
    /// ```no_run
    /// use msb_sdk::ApplyOptions;
    ///
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// for directory in sandbox.apply_staged(ApplyOptions::default().dry_run()).await? {
    ///     for change in directory.applied.changes {
    ///         println!("{} {}", change.kind.letter(), change.path);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the sandbox has no staged directory, or none
    /// at one of the paths; otherwise those of [`Sandbox::apply`].
    pub fn apply_staged(&self, options: ApplyOptions) -> Operation<Vec<AppliedDirectory>> {
        let planning = self.plan_apply(None, options);
        Operation::new(async move { planning.await?.run().await })
    }
}

/// Returns the directories that the changes of the chosen staged ones go into, and the changes that are compared.
pub(super) fn targets(
    sandbox: &StoredSandbox,
    options: &ApplyOptions,
) -> Result<(Vec<Target>, ChangeScope), Error> {
    if options.from.is_some() || options.base.is_some() {
        let message = "from and base are for changes that are applied to a chosen directory";
        return Err(Error::invalid(message));
    }
    let targets = chosen(sandbox, options)?;
    let (_, mut scope) = options.apply()?;
    if scope.paths.is_empty() {
        let paths = targets.iter().map(|target| target.from.clone());
        scope.paths = paths.collect();
    }
    Ok((targets, scope))
}

/// Returns the staged directories that the paths of the options are in; all if there are no paths.
fn chosen(sandbox: &StoredSandbox, options: &ApplyOptions) -> Result<Vec<Target>, Error> {
    let staged: Vec<(&Mount, &Staged)> = staged(&sandbox.spec.mounts).collect();
    if staged.is_empty() {
        let message = "the sandbox has no staged directory: name the directory of the host that the changes \
            go to, or create the sandbox with -v DIR:PATH:staged";
        return Err(Error::invalid(message));
    }
    for path in &options.paths {
        let is_inside = |(mount, _): &(&Mount, &Staged)| mount.target.covers(path.as_bytes());
        if !staged.iter().any(is_inside) {
            let message = format!("{} is in no staged directory of the sandbox", path.quoted());
            return Err(Error::invalid(message));
        }
    }
    let is_named = |mount: &Mount| {
        let mut paths = options.paths.iter();
        paths.any(|path| mount.target.covers(path.as_bytes()))
    };
    let mut chosen = Vec::new();
    for (mount, staged) in &staged {
        if mount.read_only && is_named(mount) {
            return Err(read_only_error(mount));
        }
        if !mount.read_only && (options.paths.is_empty() || is_named(mount)) {
            let path = mount.target.to_string();
            chosen.push(Target {
                from: path.clone().into_bytes(),
                rules: Some(rules(&path, staged)?),
                directory: staged.source(&mount.target)?.to_owned(),
                path,
            });
        }
    }
    match staged.first() {
        Some((mount, _)) if chosen.is_empty() => Err(read_only_error(mount)),
        _ => Ok(chosen),
    }
}

/// Checks that a directory of the host is not a path of a staged directory of the sandbox, which users write
/// there by mistake.
pub(super) fn check_directory(
    sandbox: &StoredSandbox,
    directory: &Path,
    options: &ApplyOptions,
) -> Result<(), Error> {
    let path = directory.as_os_str().as_encoded_bytes();
    let is_covered = |(mount, _): &(&Mount, &Staged)| mount.target.covers(path);
    let is_meant = options.from.is_some() || !path.starts_with(b"/");
    if is_meant || !staged(&sandbox.spec.mounts).any(|one| is_covered(&one)) {
        return Ok(());
    }
    let path = msb_client::printable(&directory.to_string_lossy());
    let message = format!("{path} is in a staged directory of the sandbox");
    let name = msb_client::printable(&sandbox.spec.name);
    Err(Error::invalid(message).with_hint(format!(
        "write msb apply {name} -- {path} for the directory that was staged, or give --from for another one"
    )))
}

fn read_only_error(mount: &Mount) -> Error {
    let target = msb_client::printable(mount.target.as_str());
    Error::invalid(format!(
        "the directory staged at {target} is read-only, so changes in it are not applied"
    ))
}

/// Returns the rules of the staged directory that a directory of the sandbox is in; `None` if it is in none.
pub(super) fn rules_at(
    sandbox: &StoredSandbox,
    directory: &[u8],
) -> Result<Option<StagedRules>, Error> {
    let mut all = staged(&sandbox.spec.mounts);
    let found = all.find(|(mount, _)| mount.target.covers(directory));
    let Some((mount, staged)) = found else {
        return Ok(None);
    };
    if mount.read_only {
        return Err(read_only_error(mount));
    }
    rules(mount.target.as_str(), staged).map(Some)
}

fn rules(target: &str, staged: &Staged) -> Result<StagedRules, Error> {
    Ok(StagedRules {
        target: target.as_bytes().to_vec(),
        rules: staged.all_rules()?,
    })
}
