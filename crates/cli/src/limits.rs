use image_store::{InvalidLimit, Limit, Limits};

/// Sets limits for all commands: what `--limit` takes, with commas between.
const VARIABLE: &str = "MSB_LIMITS";

// What an image may cost, as typed.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LimitArguments {
    /// Change what an image may cost; --help lists the names
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = checked, long_help = help())]
    settings: Vec<String>,
}

impl LimitArguments {
    /// The defaults, changed by the environment, changed by what was typed.
    pub(crate) fn limits(&self) -> anyhow::Result<Limits> {
        let mut limits = Limits::default();
        if let Ok(settings) = std::env::var(VARIABLE) {
            let set = limits.set(&settings);
            set.map_err(|error| {
                anyhow::Error::new(error).context(format!("cannot use {VARIABLE}"))
            })?;
        }
        for setting in &self.settings {
            limits.set(setting)?;
        }
        Ok(limits)
    }
}

/// The setting, if it is one.
fn checked(setting: &str) -> Result<String, InvalidLimit> {
    Limits::parse(setting).map(|_| setting.to_owned())
}

fn help() -> String {
    let mut text = format!(
        "Change what an image may cost; {VARIABLE} does so too, with commas between.\n\
         Sizes take KiB, MiB, GiB, TiB, times s, m, h, d. Limits and their defaults:\n"
    );
    for limit in Limit::ALL {
        let default = limit.unit().show(limit.default_value());
        let (name, description) = (limit.name(), limit.description());
        text.push_str(&format!("  {name}={default}: {description}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_limit_and_settings_are_checked() {
        let text = help();
        assert!(
            text.contains("\n  layer-time=12h: time that a layer takes\n"),
            "{text}"
        );
        assert!(Limit::ALL.iter().all(|limit| text.contains(limit.name())));
        assert!(checked("layer-time=3d").is_ok());
        let error = checked("layer-time=3GiB").expect_err("that is no time");
        assert_eq!(
            error.to_string(),
            "'3GiB' is no value for layer-time, which is 12h unless it is set"
        );
    }
}
