//! How much an image may cost. One value holds every limit; each has a name that messages show and
//! the command line takes.

mod limit;
mod unit;

use crate::error::{Exceeded, InvalidLimit};
pub use limit::Limit;
pub use unit::Unit;

/// What an image, its layers and their entries may cost. What is beyond is refused.
///
/// ```
/// use oci_layers::{Limit, Limits};
///
/// let limits = Limits::parse("entry-record=4MiB,layer-time=2h")?;
/// assert_eq!(limits.get(Limit::EntryRecord), 4 << 20);
/// assert_eq!(limits.get(Limit::LayerTime), 7200);
/// # Ok::<(), oci_layers::InvalidLimit>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    values: [u64; Limit::ALL.len()],
}

impl Limits {
    /// A limit's value, in its unit.
    pub fn get(&self, limit: Limit) -> u64 {
        self.values[limit.index()]
    }

    /// The same limits, but for one.
    #[must_use]
    pub fn with(mut self, limit: Limit, value: u64) -> Self {
        self.values[limit.index()] = value;
        self
    }

    /// Whether there may be so much of it.
    ///
    /// # Errors
    /// When there may not.
    pub fn check(&self, limit: Limit, amount: u64) -> Result<(), Exceeded> {
        if amount <= self.get(limit) {
            return Ok(());
        }
        Err(self.exceeded(limit))
    }

    /// The same for what memory holds.
    pub(crate) fn check_length(&self, limit: Limit, length: usize) -> Result<(), Exceeded> {
        self.check(limit, u64::try_from(length).unwrap_or(u64::MAX))
    }

    /// The error that names this limit.
    pub fn exceeded(&self, limit: Limit) -> Exceeded {
        let value = self.get(limit);
        Exceeded { limit, value }
    }

    /// The defaults, changed by `NAME=VALUE`, several of them with commas between.
    ///
    /// # Errors
    /// When a name or a value is none.
    pub fn parse(settings: &str) -> Result<Self, InvalidLimit> {
        let mut limits = Self::default();
        limits.set(settings)?;
        Ok(limits)
    }

    /// Changes some by `NAME=VALUE`, with commas between. Sizes take `K`, `M`, `G`, `T` with or
    /// without `iB`, times `s`, `m`, `h`, `d`.
    ///
    /// # Errors
    /// When a name or a value is none.
    pub fn set(&mut self, settings: &str) -> Result<(), InvalidLimit> {
        for setting in settings.split(',').filter(|part| !part.trim().is_empty()) {
            let (name, value) = setting
                .trim()
                .split_once('=')
                .ok_or_else(|| InvalidLimit::Form(setting.into()))?;
            let limit = Limit::ALL.into_iter().find(|limit| limit.name() == name);
            let limit = limit.ok_or_else(|| InvalidLimit::Name(name.into()))?;
            let parsed = limit.unit().parse(value);
            let parsed = parsed.ok_or_else(|| InvalidLimit::Value {
                limit,
                value: value.into(),
            })?;
            self.values[limit.index()] = parsed;
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            values: Limit::ALL.map(Limit::default_value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_change_what_they_name() {
        let limits = Limits::parse("entry-path=1K, layer-time=90m,image-layers=3,").expect("valid");
        assert_eq!(limits.get(Limit::EntryPath), 1024);
        assert_eq!(limits.get(Limit::LayerTime), 5400);
        assert_eq!(limits.get(Limit::ImageLayers), 3);
        let rest = limits
            .with(Limit::EntryPath, Limit::EntryPath.default_value())
            .with(Limit::LayerTime, Limit::LayerTime.default_value())
            .with(Limit::ImageLayers, Limit::ImageLayers.default_value());
        assert_eq!(rest, Limits::default());
        for wrong in [
            "entry-path",
            "path=1",
            "entry-path=",
            "entry-path=1h",
            "layer-time=1G",
        ] {
            assert!(Limits::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_limit_has_its_place_and_comes_back_from_its_own_text() {
        for (index, limit) in Limit::ALL.into_iter().enumerate() {
            assert_eq!(limit.index(), index);
            let value = limit.default_value();
            let shown = limit.unit().show(value);
            assert_eq!(limit.unit().parse(&shown), Some(value), "{shown}");
        }
    }

    #[test]
    fn the_documentation_lists_them_all() {
        let text = include_str!("../../../../docs/layer-semantics.md");
        for limit in Limit::ALL {
            let value = limit.unit().show(limit.default_value());
            let row = format!("| `{}` | {value} | {} |", limit.name(), limit.description());
            assert!(text.contains(&row), "{row}");
        }
    }

    #[test]
    fn an_error_names_limit_and_value() {
        let error = Limits::default().check(Limit::EntryPath, 1 << 20);
        assert_eq!(
            error.expect_err("it is too much").to_string(),
            "the length of a path or link target is beyond the limit entry-path=16KiB"
        );
    }
}
