use path_rules::{RULES_MAX, Rule, TooManyRules};

use super::{Sandbox, Spec, UpdateError};
use crate::mounts::MountError;
use crate::{Source, Target};

impl Spec {
    /// Adds a rule to the directory of the host that is staged or shared at `target`. It takes the place of an earlier
    /// one for the same paths.
    ///
    /// # Errors
    /// If there are too many rules.
    pub fn add_rule(&mut self, target: &Target, rule: Rule) -> Result<(), MountError> {
        let mut mounts = self.mounts.iter_mut();
        let mount = mounts.find(|mount| mount.target == *target);
        let rules = match mount.map(|mount| &mut mount.source) {
            Some(Source::Bind { rules, .. }) => rules,
            Some(Source::Staged(staged)) => &mut staged.rules,
            _ => return Ok(()),
        };
        rules.retain(|other| other.pattern() != rule.pattern());
        rules.push(rule);
        if rules.len() > RULES_MAX {
            return Err(TooManyRules.into());
        }
        Ok(())
    }
}

impl Sandbox {
    /// Keeps a rule of the directory of the host that is staged or shared at `target`. It takes the place of an earlier
    /// one for the same paths. A running machine is unchanged.
    ///
    /// # Errors
    /// If there would be too many rules, or the description cannot be written.
    pub fn keep_rule(&mut self, target: &Target, rule: Rule) -> Result<(), UpdateError> {
        self.change_description(|spec| {
            let added = spec.add_rule(target, rule);
            added.map_err(|source| UpdateError::Rules {
                source: Box::new(source),
            })
        })
    }
}
