//! The limits of an image. One value holds all of them; each has a name that messages show and the
//! command line accepts.

mod limit;
mod unit;

use crate::error::{Exceeded, InvalidLimit};
pub use limit::Limit;
pub use unit::Unit;

/// The limits of an image, its layers and their entries. An image beyond them is refused.
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
    /// Returns a limit's value, in its unit.
    pub fn get(&self, limit: Limit) -> u64 {
        self.values[limit.index()]
    }

    /// Returns the limits with one of them changed.
    #[must_use]
    pub fn with(mut self, limit: Limit, value: u64) -> Self {
        self.values[limit.index()] = value;
        self
    }

    /// Checks that `amount` is within a limit.
    ///
    /// # Errors
    /// `amount` is greater than the limit.
    pub fn check(&self, limit: Limit, amount: u64) -> Result<(), Exceeded> {
        if amount <= self.get(limit) {
            return Ok(());
        }
        Err(self.exceeded(limit))
    }

    /// Checks that a length in memory is within a limit.
    pub(crate) fn check_length(&self, limit: Limit, length: usize) -> Result<(), Exceeded> {
        self.check(limit, u64::try_from(length).unwrap_or(u64::MAX))
    }

    /// Returns the limits that apply to reading a layer's archive.
    pub fn of_archive(&self) -> tar_stream::Limits {
        tar_stream::Limits {
            path_bytes: self.get(Limit::EntryPath),
            record_bytes: self.get(Limit::EntryRecord),
            segments: self.get(Limit::EntrySegments),
            trailing_bytes: self.get(Limit::LayerTrailing),
        }
    }

    /// Returns the error that names this limit and its value.
    pub fn exceeded(&self, limit: Limit) -> Exceeded {
        let value = self.get(limit);
        Exceeded { limit, value }
    }

    /// Returns the defaults, changed by settings of the form `NAME=VALUE`, separated by commas.
    ///
    /// # Errors
    /// A setting has no `=`, its name is unknown, or its value is invalid.
    pub fn parse(settings: &str) -> Result<Self, InvalidLimit> {
        let mut limits = Self::default();
        limits.set(settings)?;
        Ok(limits)
    }

    /// Changes limits by settings of the form `NAME=VALUE`, separated by commas.
    ///
    /// Sizes accept `K`, `M`, `G` and `T`, with or without `iB`; times accept `s`, `m`, `h` and
    /// `d`.
    ///
    /// # Errors
    /// A setting has no `=`, its name is unknown, or its value is invalid.
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
    fn an_archive_is_read_with_the_limits_of_these_names() {
        assert_eq!(
            Limits::default().of_archive(),
            tar_stream::Limits::default()
        );
        let settings = "entry-path=1,entry-record=2,entry-segments=3,layer-trailing=4";
        let limits = Limits::parse(settings).expect("valid");
        let archive = limits.of_archive();
        for (limit, value) in [
            (tar_stream::Limit::Path, 1),
            (tar_stream::Limit::Record, 2),
            (tar_stream::Limit::Segments, 3),
            (tar_stream::Limit::Trailing, 4),
        ] {
            assert_eq!(archive.get(limit), value, "{limit:?}");
            assert_eq!(limits.get(limit.into()), value, "{limit:?}");
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
            error.expect_err("it exceeds the limit").to_string(),
            "the length of a path or link target exceeds the limit entry-path=16KiB"
        );
    }
}
