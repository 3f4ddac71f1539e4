use msb_runtime::{Mount, Spec, Target, staged};

use super::{ChangeScope, Parts};

/// The scope of a comparison, divided between the root filesystem and the staged directories. `None` if
/// nothing of a part is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scopes {
    pub(crate) root: Option<ChangeScope>,
    pub(crate) staged: Option<ChangeScope>,
    /// The paths in the sandbox of the staged directories.
    pub(super) targets: Vec<Target>,
}

impl Scopes {
    /// Divides a scope. A path above a staged directory is one of both parts.
    pub(crate) fn new(scope: &ChangeScope, mounts: &[Mount]) -> Self {
        let targets: Vec<Target> = staged(mounts)
            .map(|(mount, _)| mount.target.clone())
            .collect();
        if targets.is_empty() {
            return Self {
                root: Some(scope.clone()),
                staged: None,
                targets,
            };
        }
        if scope.paths.is_empty() {
            return Self {
                root: Some(scope.clone()),
                staged: Some(scope.clone()),
                targets,
            };
        }
        let (mut root, mut staged) = (Vec::new(), Vec::new());
        for path in &scope.paths {
            if targets.iter().any(|target| target.covers(path)) {
                staged.push(path.clone());
                continue;
            }
            root.push(path.clone());
            let names = names(path);
            let below = targets.iter().filter(|target| {
                let target: Vec<&[u8]> = target_names(target);
                target.starts_with(&names)
            });
            staged.extend(below.map(|target| target.as_str().as_bytes().to_vec()));
        }
        let part = |paths: Vec<Vec<u8>>| {
            (!paths.is_empty()).then(|| ChangeScope {
                paths,
                filter: scope.filter.clone(),
            })
        };
        Self {
            root: part(root),
            staged: part(staged),
            targets,
        }
    }

    /// Divides a scope of a sandbox's files. If no path is chosen, a native root is left out, whose changes are not
    /// stored separately.
    pub(crate) fn of_sandbox(scope: &ChangeScope, spec: &Spec) -> Self {
        let scopes = Self::new(scope, &spec.mounts);
        if spec.native_root {
            scopes.without_root(scope)
        } else {
            scopes
        }
    }

    /// Leaves the root out if no path is chosen and there are staged directories.
    pub(super) fn without_root(self, scope: &ChangeScope) -> Self {
        if scope.paths.is_empty() && self.staged.is_some() {
            Self { root: None, ..self }
        } else {
            self
        }
    }

    /// Returns the filesystems that are compared.
    pub(super) const fn parts(&self) -> Parts {
        Parts {
            root: self.root.is_some(),
            staged: self.staged.is_some(),
        }
    }
}

fn target_names(target: &Target) -> Vec<&[u8]> {
    names(target.as_str().as_bytes())
}

/// Returns the names of a path.
fn names(path: &[u8]) -> Vec<&[u8]> {
    let names = path.split(|&byte| byte == b'/');
    names.filter(|name| !matches!(*name, b"" | b".")).collect()
}

#[cfg(test)]
mod tests {
    use msb_runtime::{Source, Staged};

    use super::*;
    use testkit::sandboxes;

    fn paths(scope: Option<ChangeScope>) -> Option<Vec<String>> {
        let text = |path: Vec<u8>| String::from_utf8(path).expect("text");
        scope.map(|scope| scope.paths.into_iter().map(text).collect())
    }

    #[test]
    fn a_path_belongs_to_the_part_that_it_is_in_or_above() {
        let staged = Staged {
            directory: Some("/src".into()),
            rules: Vec::new(),
            default_rules: true,
        };
        let mounts = vec![Mount {
            target: "/srv/work".parse().expect("a target"),
            read_only: false,
            source: Source::Staged(staged),
        }];
        let divided = |given: &[&str]| {
            let given: Vec<Vec<u8>> = given.iter().map(|path| path.as_bytes().to_vec()).collect();
            let scopes = Scopes::new(&given.into(), &mounts);
            (paths(scopes.root), paths(scopes.staged))
        };
        let list = |paths: &[&str]| Some(paths.iter().map(ToString::to_string).collect());
        assert_eq!(divided(&[]), (list(&[]), list(&[])));
        assert_eq!(divided(&["/etc"]), (list(&["/etc"]), None));
        assert_eq!(divided(&["srv/work/a"]), (None, list(&["srv/work/a"])));
        assert_eq!(divided(&["/srv"]), (list(&["/srv"]), list(&["/srv/work"])));
        assert_eq!(
            divided(&["/srv/work", "/etc"]),
            (list(&["/etc"]), list(&["/srv/work"]))
        );
        let mut spec = sandboxes::spec("native");
        spec.native_root = true;
        let of_native = |given: ChangeScope, spec: &Spec| {
            let scopes = Scopes::of_sandbox(&given, spec);
            (paths(scopes.root), paths(scopes.staged))
        };
        let nothing = ChangeScope::default;
        assert_eq!(of_native(nothing(), &spec), (list(&[]), None));
        spec.mounts = mounts.clone();
        assert_eq!(of_native(nothing(), &spec), (None, list(&[])));
        let above = vec![b"/srv".to_vec()].into();
        assert_eq!(of_native(above, &spec).0, list(&["/srv"]));
    }
}
