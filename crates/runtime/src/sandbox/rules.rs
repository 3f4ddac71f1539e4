use path_rules::Rule;

use super::{Sandbox, Spec, UpdateError};
use crate::Source;
use crate::mounts::MountError;

impl Spec {
    /// Adds a rule to the staged directory with this number. It takes the place of an earlier one for the same paths.
    ///
    /// # Errors
    /// If there are too many rules.
    pub fn add_rule(&mut self, number: usize, rule: Rule) -> Result<(), MountError> {
        let mut staged = self
            .mounts
            .iter_mut()
            .filter_map(|mount| match &mut mount.source {
                Source::Staged(staged) => Some(staged),
                _ => None,
            });
        if let Some(staged) = staged.nth(number) {
            staged
                .rules
                .retain(|other| other.pattern() != rule.pattern());
            staged.rules.push(rule);
            staged.all_rules()?;
        }
        Ok(())
    }
}

impl Sandbox {
    /// Keeps a rule of a staged directory, the one with this number. It takes the place of an earlier one for the
    /// same paths. A running machine is unchanged.
    ///
    /// # Errors
    /// If there would be too many rules, or the description cannot be written.
    pub fn keep_rule(&mut self, number: usize, rule: Rule) -> Result<(), UpdateError> {
        self.change_description(|spec| {
            let added = spec.add_rule(number, rule);
            added.map_err(|source| UpdateError::Rules {
                source: Box::new(source),
            })
        })
    }
}
