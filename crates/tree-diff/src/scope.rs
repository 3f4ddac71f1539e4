use std::collections::BTreeMap;

use crate::error::InvalidScope;

/// The part of two trees that is compared: everything, or some paths and what is below them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    root: Node,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Node {
    /// True if the path that leads here, and everything below it, is in the scope.
    is_whole: bool,
    below: BTreeMap<Vec<u8>, Node>,
}

impl Scope {
    /// Returns the scope of everything.
    #[must_use]
    pub const fn everything() -> Self {
        let root = Node {
            is_whole: true,
            below: BTreeMap::new(),
        };
        Self { root }
    }

    /// Returns the scope of these paths, which start at the root with or without a slash. Symlinks
    /// are not followed. No path at all is everything.
    ///
    /// # Errors
    /// If a path has a component `..`.
    pub fn of_paths(
        paths: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> Result<Self, InvalidScope> {
        let mut root = None;
        for path in paths {
            let mut node: &mut Node = root.get_or_insert_default();
            for name in components(path.as_ref())? {
                node = node.below.entry(name.to_vec()).or_default();
            }
            node.is_whole = true;
        }
        Ok(root.map_or_else(Self::everything, |root| Self { root }))
    }

    pub(crate) const fn root(&self) -> &Node {
        &self.root
    }

    /// Returns true if a path, from the root, is in the scope.
    #[must_use]
    pub fn contains(&self, path: &[u8]) -> bool {
        self.node(path).is_some_and(|node| node.is_whole)
    }

    /// Returns true if a path, from the root, is not in the scope, but something below it is.
    #[must_use]
    pub fn is_below(&self, path: &[u8]) -> bool {
        self.node(path).is_some_and(|node| !node.is_whole)
    }

    /// Returns the part of the scope at a path. `None` if it is outside.
    fn node(&self, path: &[u8]) -> Option<&Node> {
        let mut names = path.split(|&byte| byte == b'/');
        names.try_fold(&self.root, |node, name| match name {
            b"" => Some(node),
            name => node.at(name),
        })
    }
}

impl Node {
    /// Returns the part of the scope at a name in this directory. `None` if it is outside.
    pub(crate) fn at(&self, name: &[u8]) -> Option<&Self> {
        if self.is_whole {
            return Some(self);
        }
        self.below.get(name)
    }

    pub(crate) const fn is_whole(&self) -> bool {
        self.is_whole
    }
}

fn components(path: &[u8]) -> Result<Vec<&[u8]>, InvalidScope> {
    let names = path.split(|&byte| byte == b'/');
    let names: Vec<&[u8]> = names.filter(|name| !matches!(*name, b"" | b".")).collect();
    if names.contains(&&b".."[..]) {
        return Err(InvalidScope {
            path: path.to_vec(),
        });
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_has_its_paths_and_what_is_below() {
        let scope = Scope::of_paths(["etc/", "/usr/./lib"]).expect("valid");
        for (path, is_inside) in [
            ("/etc", true),
            ("/etc/hosts", true),
            ("/etcetera", false),
            ("/usr", false),
            ("/usr/lib/a/b", true),
            ("/usr/lib64", false),
            ("/", false),
        ] {
            assert_eq!(scope.contains(path.as_bytes()), is_inside, "{path}");
        }
        assert!(scope.is_below(b"/usr") && !scope.is_below(b"/usr/lib"));
        assert!(scope.is_below(b"/") && !scope.is_below(b"/var"));
        assert!(Scope::everything().contains(b"/a"));
        assert!(Scope::of_paths(["/"]).expect("valid").contains(b"/a"));
        let none: [&[u8]; 0] = [];
        assert_eq!(Scope::of_paths(none), Ok(Scope::everything()));
        assert!(Scope::of_paths(["a/../b"]).is_err());
    }
}
