use std::collections::BTreeMap;

use msb_sdk::Size;
use oci_layers::{InvalidLimit, Limit, Limits};

use msb_terminal::output;

/// The environment variable that sets limits for all commands: values of `--limit`, separated by
/// commas.
pub(crate) const VARIABLE: &str = "MSB_LIMITS";
/// The environment variable that limits the space of all images, like `--store-limit`.
pub(crate) const STORE_LIMIT_VARIABLE: &str = "MSB_STORE_LIMIT";

// The options that limit an image's resources.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LimitArguments {
    /// Set an image limit, such as layer-time=3d; see msb help limits
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = checked)]
    settings: Vec<String>,
    /// Limit on the space of all images, such as 20GiB
    ///
    /// When the total exceeds it, the least recently used images are removed.
    #[arg(long, env = STORE_LIMIT_VARIABLE, value_name = "SIZE", value_parser = output::parse_size)]
    store_limit: Option<u64>,
}

impl LimitArguments {
    /// Returns the limit of the space of all images; `None` if it is not limited.
    pub(crate) fn store_limit(&self) -> Option<Size> {
        self.store_limit.map(Size::new)
    }

    /// Returns the limits that the options set, by name.
    pub(crate) fn by_name(&self) -> BTreeMap<String, String> {
        let settings = self
            .settings
            .iter()
            .flat_map(|settings| settings.split(','));
        let pairs = settings.filter_map(|setting| setting.split_once('='));
        let pairs = pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        pairs.collect()
    }
}

/// Returns the setting if it is valid.
fn checked(setting: &str) -> Result<String, InvalidLimit> {
    Limits::parse(setting).map(|_| setting.to_owned())
}

/// Returns the table of all limits with their defaults.
pub(crate) fn table() -> String {
    let mut text = format!(
        "An image that exceeds a limit is refused. Change a limit with --limit, which can be repeated, or for \
        all commands with {VARIABLE}, whose values are separated by commas. Sizes are written with KiB, MiB, \
        GiB or TiB, times with s, m, h or d.\n\n\
        Limits and their defaults:\n"
    );
    for limit in Limit::ALL {
        let default = limit.unit().show(limit.default_value());
        let (name, description) = (limit.name(), limit.description());
        text.push_str(&format!("  {name}={default}: {description}\n"));
    }
    text.push_str(&format!(
        "\nExamples:\n  msb pull --limit layer-time=3d debian\n  {VARIABLE}=layer-time=3d msb run --rm debian true\n"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_limit_and_settings_are_checked() {
        let text = table();
        assert!(
            text.contains("\n  layer-time=12h: time that a layer takes\n"),
            "{text}"
        );
        assert!(Limit::ALL.iter().all(|limit| text.contains(limit.name())));
        assert!(checked("layer-time=3d").is_ok());
        let error = checked("layer-time=3GiB").expect_err("that is no time");
        assert_eq!(
            error.to_string(),
            "'3GiB' is not a value for the limit layer-time, whose default is 12h"
        );
    }
}
