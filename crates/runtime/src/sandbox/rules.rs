use fs_err as fs;
use path_rules::Rule;

use super::lock::ChangeLock;
use super::{Sandbox, Spec, UpdateError, record};
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
        let name = self.spec.name.clone();
        let io_error = |source| UpdateError::Io {
            name: name.clone(),
            source,
        };
        let _change = ChangeLock::take(&self.files).map_err(io_error)?;
        let _lock = self.lock().map_err(io_error)?;
        let mut spec = Spec::read(&self.files.directory).map_err(io_error)?;
        spec.add_rule(number, rule)
            .map_err(|source| UpdateError::Rules {
                source: Box::new(source),
            })?;
        record::write(&self.files, &spec).map_err(io_error)?;
        if !self.files.has_upper().map_err(io_error)? {
            // The sandbox was removed during the write; the new file describes no sandbox.
            let _ = fs::remove_dir_all(&self.files.directory);
            return Err(UpdateError::Gone { name });
        }
        self.spec = spec;
        Ok(())
    }
}
