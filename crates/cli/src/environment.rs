//! Settings in the environment, checked for every command, even if it does not use them.

use msb_jail::{JAIL_VARIABLE, Strictness};
use msb_sdk::PackAfter;
use oci_layers::Limits;

use crate::commands::{VerifyPolicy, VmmName};
use crate::limits;
use msb_terminal::output;

/// A variable, and the check of its value.
type Setting = (&'static str, fn(&str) -> Result<(), String>);

const SETTINGS: &[Setting] = &[
    (limits::VARIABLE, |value| {
        let set = Limits::default().set(value);
        set.map_err(|error| error.to_string())
    }),
    (limits::STORE_LIMIT_VARIABLE, |value| {
        output::parse_size(value).map(drop)
    }),
    (JAIL_VARIABLE, |value| {
        let strictness: Result<Strictness, _> = value.parse();
        strictness.map(drop).map_err(|error| error.to_string())
    }),
    ("MSB_VMM", one_of::<VmmName>),
    ("MSB_VERIFY", one_of::<VerifyPolicy>),
    ("MSB_MAINTENANCE", |value| {
        let is_known = matches!(value, "auto" | "off");
        is_known
            .then_some(())
            .ok_or_else(|| format!("'{value}' is not one of auto, off"))
    }),
    ("MSB_PACK", |value| {
        let pack: Result<PackAfter, _> = value.parse();
        pack.map(drop).map_err(|error| error.to_string())
    }),
    ("MSB_PACK_CACHE", |value| {
        output::parse_size(value).map(drop)
    }),
];

fn one_of<T: clap::ValueEnum>(value: &str) -> Result<(), String> {
    let variants = T::value_variants().iter();
    let names =
        variants.filter_map(|variant| Some(variant.to_possible_value()?.get_name().to_owned()));
    let names: Vec<String> = names.collect();
    if names.iter().any(|name| name == value) {
        Ok(())
    } else {
        Err(format!("'{value}' is not one of {}", names.join(", ")))
    }
}

/// Checks the settings of the environment. A mistake is found even if the command that was typed
/// does not use the setting.
///
/// # Errors
/// If a variable has an invalid value.
pub(crate) fn check() -> anyhow::Result<()> {
    check_with(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
}

fn check_with(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<()> {
    for (name, judge) in SETTINGS {
        if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
            judge(&value).map_err(|why| anyhow::anyhow!("cannot use {name}: {why}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_cannot_be_used_is_named() {
        for (name, good, bad) in [
            ("MSB_LIMITS", "layer-time=3d", "foo=1"),
            ("MSB_STORE_LIMIT", "20GiB", "lots"),
            ("MSB_JAIL", "required", "yes"),
            ("MSB_VMM", "qemu", "xen"),
            ("MSB_VERIFY", "always", "never"),
            ("MSB_MAINTENANCE", "off", "later"),
            ("MSB_PACK", "10d", "later"),
            ("MSB_PACK_CACHE", "2G", "lots"),
        ] {
            let with = |value: &str| check_with(|asked| (asked == name).then(|| value.to_owned()));
            with(good).expect(name);
            with("").expect(name);
            let refused = with(bad).expect_err(name).to_string();
            let begins = format!("cannot use {name}: ");
            assert!(
                refused.starts_with(&begins) && refused.contains(bad.trim_end_matches("=1")),
                "{refused}"
            );
        }
        assert_eq!(SETTINGS.len(), 8);
    }
}
