use msb_share::{Permission, Permissions};
use msb_vmm::ShareEntry;
use path_rules::{Rules, Scope, State, TooManyRules};

/// The rules of a shared directory, as what its share server permits.
///
/// A share server asks no question: `write-ask` is as `read-only`, and `ask` as `hide`.
#[derive(Debug, Clone)]
pub(crate) struct SharedRules(Rules);

impl SharedRules {
    /// Returns the rules of an entry of a share; `None` if it has none.
    ///
    /// # Errors
    /// If there are too many.
    pub(crate) fn of(entry: &ShareEntry) -> Result<Option<Self>, TooManyRules> {
        if entry.rules.is_empty() {
            return Ok(None);
        }
        let mut rules = Rules::new();
        for rule in &entry.rules {
            rules.push(rule.clone())?;
        }
        Ok(Some(Self(rules)))
    }

    fn scope(&self, path: &[u8]) -> Scope<'_> {
        let names = path.split(|&byte| byte == b'/');
        let names = names.filter(|name| !name.is_empty());
        names.fold(self.0.root(), |scope, name| scope.child(name))
    }
}

impl Permissions for SharedRules {
    fn of(&self, path: &[u8]) -> Permission {
        permission(self.0.decide(path).state)
    }

    fn shows_below(&self, path: &[u8]) -> bool {
        let scope = self.scope(path);
        let mut below = scope.given_below().filter_map(|at| self.0.given().get(at));
        below.any(|rule| permission(rule.state()) != Permission::Nothing)
    }

    fn depends_below(&self, path: &[u8]) -> bool {
        self.scope(path).given_below().next().is_some()
    }
}

const fn permission(state: State) -> Permission {
    match state {
        State::Allow => Permission::All,
        State::WriteAsk | State::ReadOnly => Permission::Read,
        State::Deny => Permission::Name,
        State::Ask | State::Hide => Permission::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_directory_is_there_for_what_is_shown_in_it() {
        let rules = [
            "secrets=hide",
            "secrets/public=read-only",
            "*.pem=deny",
            "docs=write-ask",
        ];
        let entry = ShareEntry {
            name: "0".to_owned(),
            path: "/srv".into(),
            kind: msb_vmm::ShareKind::Directory,
            rules: rules.map(|rule| rule.parse().expect("a rule")).to_vec(),
        };
        let rules = SharedRules::of(&entry).expect("few").expect("some");
        let expected = [
            ("", Permission::All),
            ("secrets", Permission::Nothing),
            ("secrets/key", Permission::Nothing),
            ("secrets/public/a", Permission::Read),
            ("deep/tls.pem", Permission::Name),
            ("docs/guide", Permission::Read),
        ];
        for (path, permission) in expected {
            assert_eq!(rules.of_path(path), permission, "{path}");
        }
        assert!(rules.shows_below(b"secrets") && !rules.shows_below(b"secrets/key"));
        assert!(rules.depends_below(b"secrets") && !rules.depends_below(b"docs"));
    }

    impl SharedRules {
        fn of_path(&self, path: &str) -> Permission {
            Permissions::of(self, path.as_bytes())
        }
    }
}
