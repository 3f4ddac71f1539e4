//! The kernel's configuration: the fragments on top of nothing at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use test_fixtures::command::quiet;

/// The fragments. No two of them set one option.
const FRAGMENTS: [&str; 5] = [
    "base.config",
    "msb.config",
    "guest.config",
    "hardening.config",
    "size.config",
];

/// The fragments whose sections a kernel can do without.
const OPTIONAL: [&str; 2] = ["guest.config", "hardening.config"];

/// The start of the line that begins a section of a fragment.
const HEADING: &str = "# --- ";

/// The settings of all fragments.
pub(crate) struct Configuration {
    text: String,
    /// The settings of each section of the optional fragments, in order.
    sections: Vec<(String, String)>,
}

impl Configuration {
    /// Reads the fragments of a directory.
    ///
    /// # Errors
    /// If one cannot be read, or an option is set twice.
    pub(crate) fn read(directory: &Path) -> Result<Self> {
        let mut origins = BTreeMap::new();
        let (mut text, mut sections) = (String::new(), Vec::new());
        for name in FRAGMENTS {
            let path = directory.join(name);
            let fragment = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            for (option, value) in settings(&fragment) {
                let earlier = origins.insert(option.to_owned(), name);
                ensure!(
                    earlier.is_none(),
                    "{option} is set in {} and in {name}",
                    earlier.unwrap_or_default()
                );
                text.push_str(&format!("{option}={value}\n"));
            }
            if OPTIONAL.contains(&name) {
                sections.extend(self::sections(&fragment));
            }
        }
        Ok(Self { text, sections })
    }

    /// Returns the settings, one a line.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the configurations that each lack one section, with the section's heading.
    pub(crate) fn without_each(&self) -> impl Iterator<Item = (&str, Self)> {
        self.sections.iter().map(|(heading, omitted)| {
            let is_kept = |line: &&str| !omitted.lines().any(|omitted| omitted == *line);
            let lines = self.text.lines().filter(is_kept);
            let text = lines.map(|line| format!("{line}\n")).collect();
            let sections = Vec::new();
            (heading.as_str(), Self { text, sections })
        })
    }

    /// Configures a source tree and returns its `.config`, whatever became of the settings.
    ///
    /// # Errors
    /// If the kernel's makefile fails.
    pub(crate) fn offer(&self, tree: &Path) -> Result<String> {
        let wanted = tree.join("msb.settings");
        fs::write(&wanted, &self.text)?;
        quiet(
            Command::new("make")
                .current_dir(tree)
                .env("KCONFIG_ALLCONFIG", &wanted)
                .args(["--silent", "allnoconfig"]),
        )?;
        Ok(fs::read_to_string(tree.join(".config"))?)
    }

    /// Configures a source tree, and returns its `.config`, in which each setting took effect.
    ///
    /// # Errors
    /// If an option was dropped, because the kernel does not know it, something that it depends on
    /// is missing, or another option forces it.
    pub(crate) fn apply(&self, tree: &Path) -> Result<String> {
        let made = self.offer(tree)?;
        let dropped = dropped(&self.text, &made);
        ensure!(
            dropped.is_empty(),
            "the kernel's configuration does not keep {}",
            dropped.join(", ")
        );
        Ok(made)
    }
}

/// Returns the settings that a finished configuration does not have. An option that is not set is
/// absent from it.
fn dropped<'a>(wanted: &'a str, made: &str) -> Vec<&'a str> {
    let made: BTreeMap<_, _> = settings(made).collect();
    let is_dropped = |line: &&str| {
        let mut setting = settings(line);
        setting
            .next()
            .is_some_and(|(option, value)| made.get(option).copied().unwrap_or("n") != value)
    };
    wanted.lines().filter(is_dropped).collect()
}

/// Returns the sections of a fragment: the heading of each, and its settings, one a line.
fn sections(fragment: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in fragment.lines() {
        if let Some(heading) = line.strip_prefix(HEADING) {
            let heading = heading.trim_end_matches('-').trim_end();
            sections.push((heading.to_owned(), String::new()));
        } else if let (Some((_, text)), Some((option, value))) =
            (sections.last_mut(), settings(line).next())
        {
            text.push_str(&format!("{option}={value}\n"));
        }
    }
    sections
}

/// Returns the options of a configuration, with their values.
fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter(|line| line.starts_with("CONFIG_"));
    lines.filter_map(|line| line.split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_option_is_named() {
        let wanted = "CONFIG_A=y\nCONFIG_B=n\nCONFIG_C=64\nCONFIG_D=n\nCONFIG_E=y\n";
        let made = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=8\nCONFIG_D=y\n";
        assert_eq!(
            dropped(wanted, made),
            ["CONFIG_C=64", "CONFIG_D=n", "CONFIG_E=y"]
        );
    }

    #[test]
    fn a_section_is_left_out() {
        let fragment = "CONFIG_A=y\n# --- One -----\nCONFIG_B=y\n# why\nCONFIG_C=y\n# --- Two ---\nCONFIG_D=n\n";
        let sections = sections(fragment);
        let text = settings(fragment).map(|(option, value)| format!("{option}={value}\n"));
        let text = text.collect();
        let configuration = Configuration { text, sections };
        let without: Vec<_> = configuration
            .without_each()
            .map(|(heading, without)| (heading, without.text))
            .collect();
        let expected = [
            ("One", "CONFIG_A=y\nCONFIG_D=n\n"),
            ("Two", "CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=y\n"),
        ];
        assert_eq!(
            without,
            expected.map(|(heading, text)| (heading, text.to_owned()))
        );
    }

    #[test]
    fn the_fragments_agree() {
        let directory = test_fixtures::paths::root().join("kernel-config");
        let configuration = Configuration::read(&directory).expect("the fragments are readable");
        assert!(configuration.text().contains("CONFIG_PVH=y\n"));
    }
}
