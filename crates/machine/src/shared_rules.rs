use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use msb_share::{Permission, Permissions};
use msb_vmm::ShareEntry;
use path_rules::{Rule, Rules, Scope, State, TooManyRules};

/// The rules of a shared directory, as what its share server permits. Clones share the rules, which can change.
#[derive(Debug, Clone)]
pub(crate) struct SharedRules(Arc<RwLock<Rules>>);

impl SharedRules {
    /// Returns the rules of an entry of a share; `None` if it has none.
    ///
    /// # Errors
    /// If there are too many.
    pub(crate) fn of(entry: &ShareEntry) -> Result<Option<Self>, TooManyRules> {
        if entry.rules.is_empty() {
            return Ok(None);
        }
        let rules = collected(&entry.rules)?;
        Ok(Some(Self(Arc::new(RwLock::new(rules)))))
    }

    /// Adds a rule. It takes the place of an earlier one for the same paths.
    ///
    /// # Errors
    /// If there are too many. The rules are unchanged then.
    pub(crate) fn set(&self, rule: &Rule) -> Result<(), TooManyRules> {
        let mut rules = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let others = rules.given().iter();
        let others = others.filter(|other| other.pattern() != rule.pattern());
        *rules = collected(others.chain([rule]))?;
        Ok(())
    }

    /// Returns the rule that decides about a path, `PATH=STATE`; `None` if none does.
    pub(crate) fn deciding(&self, path: &[u8]) -> Option<String> {
        let rules = self.rules();
        rules.decide(path).rule.map(ToString::to_string)
    }

    fn rules(&self) -> RwLockReadGuard<'_, Rules> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permissions for SharedRules {
    fn of(&self, path: &[u8]) -> Permission {
        permission(self.rules().decide(path).state)
    }

    fn shows_below(&self, path: &[u8]) -> bool {
        let rules = self.rules();
        let scope = scope(&rules, path);
        let mut below = scope.given_below().filter_map(|at| rules.given().get(at));
        below.any(|rule| permission(rule.state()) != Permission::Nothing)
    }

    fn depends_below(&self, path: &[u8]) -> bool {
        let rules = self.rules();
        scope(&rules, path).given_below().next().is_some()
    }
}

fn collected<'r>(all: impl IntoIterator<Item = &'r Rule>) -> Result<Rules, TooManyRules> {
    let mut rules = Rules::new();
    for rule in all {
        rules.push(rule.clone())?;
    }
    Ok(rules)
}

fn scope<'r>(rules: &'r Rules, path: &[u8]) -> Scope<'r> {
    let names = path.split(|&byte| byte == b'/');
    let names = names.filter(|name| !name.is_empty());
    names.fold(rules.root(), |scope, name| scope.child(name))
}

const fn permission(state: State) -> Permission {
    match state {
        State::Allow => Permission::All,
        State::WriteAsk => Permission::AskToChange,
        State::ReadOnly => Permission::Read,
        State::Ask => Permission::Ask,
        State::Deny => Permission::Name,
        State::Hide => Permission::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use path_rules::RULES_MAX;

    use super::*;

    #[test]
    fn a_hidden_directory_is_there_for_what_is_shown_in_it() {
        let rules = [
            "secrets=hide",
            "secrets/public=read-only",
            "*.pem=deny",
            "docs=write-ask",
            "vault=ask",
        ];
        let rules = shared(&rules);
        let expected = [
            ("", Permission::All),
            ("secrets", Permission::Nothing),
            ("secrets/key", Permission::Nothing),
            ("secrets/public/a", Permission::Read),
            ("deep/tls.pem", Permission::Name),
            ("docs/guide", Permission::AskToChange),
            ("vault/key", Permission::Ask),
        ];
        for (path, permission) in expected {
            assert_eq!(rules.of_path(path), permission, "{path}");
        }
        assert!(rules.shows_below(b"secrets") && !rules.shows_below(b"secrets/key"));
        assert!(rules.depends_below(b"secrets") && !rules.depends_below(b"docs"));
    }

    #[test]
    fn a_changed_rule_holds_at_once_for_all_who_have_the_rules() {
        let rules = shared(&["/vault=hide", "*.pem=deny"]);
        let served = rules.clone();
        assert_eq!(served.deciding(b"vault/a").as_deref(), Some("/vault=hide"));
        assert_eq!(served.deciding(b"src"), None);
        rules
            .set(&"/vault=ask".parse().expect("a rule"))
            .expect("few");
        assert_eq!(served.of_path("vault/a"), Permission::Ask);
        assert_eq!(served.of_path("tls.pem"), Permission::Name);
        assert_eq!(served.rules().given().len(), 2);
    }

    #[test]
    fn one_rule_too_many_changes_nothing() {
        let many: Vec<String> = (1..RULES_MAX)
            .map(|number| format!("/{number}=deny"))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let rules = shared(&many);
        for rule in ["/1=hide", "/last=deny"] {
            rules.set(&rule.parse().expect("a rule")).expect("few");
        }
        let one_more = "/more=deny".parse().expect("a rule");
        rules.set(&one_more).expect_err("too many");
        assert_eq!(rules.of_path("1"), Permission::Nothing);
        assert_eq!(rules.of_path("more"), Permission::All);
    }

    fn shared(rules: &[&str]) -> SharedRules {
        let rules = rules.iter().map(|rule| rule.parse().expect("a rule"));
        let entry = ShareEntry {
            name: "0".to_owned(),
            path: "/srv".into(),
            kind: msb_vmm::ShareKind::Directory,
            target: "/work".to_owned(),
            rules: rules.collect(),
        };
        SharedRules::of(&entry).expect("few").expect("some")
    }

    impl SharedRules {
        fn of_path(&self, path: &str) -> Permission {
            Permissions::of(self, path.as_bytes())
        }
    }
}
