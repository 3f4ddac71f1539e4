use msb_runtime::{Mount, Rule, Sandbox, Source, Target, staged};
use path_rules::Pattern;

use super::{AllowError, Permission};

/// A path in a directory of the host that a sandbox has.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// True if the directory is shared, false if it is staged.
    pub(super) is_shared: bool,
    /// The number of the directory among those of its kind.
    pub(super) number: usize,
    /// The directory's path in the sandbox.
    pub(super) target: Target,
    /// The path below it; empty for the directory itself.
    pub(super) path: Vec<u8>,
    /// The rule for the path, relative to the directory.
    pub(super) rule: Rule,
}

/// A directory of the host that a sandbox has.
struct Directory<'a> {
    is_shared: bool,
    number: usize,
    target: &'a Target,
    takes_rules: bool,
}

impl Place {
    /// Finds the directory that a path is in.
    ///
    /// # Errors
    /// If there is none, it is a shared directory without rules, or the path has wildcards.
    pub(super) fn find(sandbox: &Sandbox, permission: &Permission) -> Result<Self, AllowError> {
        let path = &permission.path;
        let all = directories(&sandbox.spec.mounts);
        let targets = || all.iter().map(|directory| directory.target.to_string());
        let outside = || AllowError::Outside {
            name: sandbox.spec.name.clone(),
            path: path.clone(),
            targets: targets().collect(),
        };
        if path.iter().any(|byte| matches!(byte, b'*' | b'?' | 0)) {
            return Err(AllowError::Wildcard { path: path.clone() });
        }
        let absolute = match only(&all) {
            Some(only) if !path.starts_with(b"/") => {
                [only.target.as_str().as_bytes(), b"/", path].concat()
            }
            _ => path.clone(),
        };
        let names = plain_names(&absolute).ok_or_else(outside)?;
        let is_in = |directory: &&Directory<'_>| names.starts_with(&directory.names());
        let found = all.iter().filter(is_in);
        let found = found.max_by_key(|directory| directory.names().len());
        let found = found.filter(|_| absolute.starts_with(b"/"));
        let found = found.ok_or_else(outside)?;
        if !found.takes_rules {
            return Err(AllowError::Unruled {
                name: sandbox.spec.name.clone(),
                target: found.target.to_string(),
            });
        }
        let path = names[found.names().len()..].join(&b'/');
        let pattern = Pattern::parse(&[b"/", &path[..]].concat())?;
        Ok(Self {
            is_shared: found.is_shared,
            number: found.number,
            target: found.target.clone(),
            path,
            rule: Rule::new(pattern, permission.state),
        })
    }

    /// Returns the path in the sandbox of a file of the directory.
    pub(super) fn in_sandbox(&self, path: &[u8]) -> Vec<u8> {
        [self.target.as_str().as_bytes(), b"/", path].concat()
    }

    /// Returns the rule as it is written, `PATH=STATE`.
    pub(super) fn rule_text(&self) -> Vec<u8> {
        let state = self.rule.state().as_str().as_bytes();
        [self.rule.pattern().as_bytes(), b"=", state].concat()
    }
}

impl<'a> Directory<'a> {
    /// Returns the names of the directory's path in the sandbox.
    fn names(&self) -> Vec<&'a [u8]> {
        let target = self.target.as_str().as_bytes();
        target.split(|&byte| byte == b'/').skip(1).collect()
    }
}

/// Returns the directories of the host that a sandbox has, the staged ones first.
fn directories(mounts: &[Mount]) -> Vec<Directory<'_>> {
    let staged = staged(mounts).enumerate();
    let staged = staged.map(|(number, (mount, _))| Directory {
        is_shared: false,
        number,
        target: &mount.target,
        takes_rules: true,
    });
    let shared = mounts.iter().filter_map(|mount| match &mount.source {
        Source::Bind { rules, .. } => Some((&mount.target, rules)),
        _ => None,
    });
    // The process that serves a directory without rules does not know the paths of open files.
    let shared = shared
        .enumerate()
        .map(|(number, (target, rules))| Directory {
            is_shared: true,
            number,
            target,
            takes_rules: !rules.is_empty(),
        });
    staged.chain(shared).collect()
}

/// Returns the directory that a relative path is in: the only staged one, or the only one at all. `None` if there are
/// several.
fn only<'d, 'a>(all: &'d [Directory<'a>]) -> Option<&'d Directory<'a>> {
    let mut staged = all.iter().filter(|directory| !directory.is_shared);
    match (all, staged.next(), staged.next()) {
        ([only], ..) => Some(only),
        (_, only, None) => only,
        _ => None,
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
