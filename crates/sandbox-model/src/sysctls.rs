use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kernel_word::encode;
use crate::{Sysctl, SysctlError};

/// Maximum length of all settings, in bytes: the kernel's command line has 1,536, of which mounts may take
/// 1,024.
const LIMIT_BYTES: usize = 512;

/// Settings of the guest's kernel, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    try_from = "BTreeMap<String, String>",
    into = "BTreeMap<String, String>"
)]
pub struct Sysctls(BTreeMap<String, String>);

impl Sysctls {
    /// Collects settings; the later of two with one name counts.
    ///
    /// # Errors
    /// If they are too long together.
    pub fn new(settings: impl IntoIterator<Item = Sysctl>) -> Result<Self, SysctlError> {
        let settings = settings.into_iter();
        let all = Self(settings.map(|one| (one.name, one.value)).collect());
        match all.length_bytes() {
            length_bytes if length_bytes > LIMIT_BYTES => Err(SysctlError::TooLong {
                length_bytes,
                limit_bytes: LIMIT_BYTES,
            }),
            _ => Ok(all),
        }
    }

    /// Returns the names, with dots between their parts, and the values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.0.iter();
        settings.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the length of `NAME=VALUE` of all settings with a separator between them, in bytes. Values are
    /// encoded.
    fn length_bytes(&self) -> usize {
        let one = |(name, value): (&str, &str)| name.len() + 1 + encode(value).len() + 1;
        self.iter().map(one).sum::<usize>().saturating_sub(1)
    }
}

impl TryFrom<BTreeMap<String, String>> for Sysctls {
    type Error = SysctlError;

    fn try_from(settings: BTreeMap<String, String>) -> Result<Self, SysctlError> {
        let settings = settings
            .iter()
            .map(|(name, value)| Sysctl::new(name, value));
        Self::new(settings.collect::<Result<Vec<_>, _>>()?)
    }
}

impl From<Sysctls> for BTreeMap<String, String> {
    fn from(settings: Sysctls) -> Self {
        settings.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_ordered_by_name_and_bounded_together() {
        let one = |text: &str| text.parse::<Sysctl>().expect("a setting");
        let settings = Sysctls::new([one("b.c=2 3"), one("a.b=0"), one("a.b=1;x")]).expect("short");
        let listed: Vec<_> = settings.iter().collect();
        assert_eq!(listed, [("a.b", "1;x"), ("b.c", "2 3")]);
        assert_eq!(settings.length_bytes(), "a.b=1%3bx;b.c=2%203".len());
        assert_eq!(Sysctls::default().length_bytes(), 0);
        let long = Sysctls::new([Sysctl::new("a.b", &"x".repeat(LIMIT_BYTES)).expect("a setting")]);
        assert!(matches!(long, Err(SysctlError::TooLong { .. })), "{long:?}");
    }

    #[test]
    fn stored_settings_are_checked_again() {
        let read = |json: &str| serde_json::from_str::<Sysctls>(json);
        let settings = read(r#"{"net/core/somaxconn": "1"}"#).expect("read");
        let json = serde_json::to_string(&settings).expect("written");
        assert_eq!(json, r#"{"net.core.somaxconn":"1"}"#);
        let refused = read(r#"{"kernel.hostname": "a"}"#).expect_err("refused");
        assert!(refused.to_string().contains("--hostname"), "{refused}");
    }
}
