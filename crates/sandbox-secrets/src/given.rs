use std::collections::BTreeMap;

use msb_secrets::{Secret, SecretName, SecretSource, SecretValue};

/// The values that a program gave with the options of a sandbox. They are in no file.
#[derive(Debug, Clone, Default)]
pub struct GivenValues(BTreeMap<SecretName, SecretValue>);

impl GivenValues {
    /// Returns the values of secrets that have some.
    pub fn of(secrets: &[Secret]) -> Self {
        let values = secrets.iter().filter_map(|secret| {
            let value = secret.value.clone()?;
            Some((secret.name.clone(), value))
        });
        Self(values.collect())
    }

    /// Gives secrets their values.
    pub(crate) fn lend(&self, secrets: &mut [Secret]) {
        for secret in secrets {
            // Another source may have been recorded meanwhile.
            if secret.from == SecretSource::Given {
                secret.value = self.0.get(&secret.name).cloned();
            }
        }
    }
}
