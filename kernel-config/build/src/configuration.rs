//! The kernel's configuration: the fragments on top of nothing at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use test_fixtures::command::quiet;

use crate::architecture::{self, Architecture};

/// The fragments of every architecture. No two of them set one option.
const FRAGMENTS: [&str; 5] = [
    "base.config",
    "msb.config",
    "guest.config",
    "hardening.config",
    "size.config",
];

/// The fragment that only a kernel with other filesystems has.
const FILESYSTEMS: &str = "filesystems.config";

/// The fragments whose sections a kernel can do without.
const OPTIONAL: [&str; 2] = ["guest.config", "hardening.config"];

/// The start of the line that begins a section of a fragment.
const HEADING: &str = "# --- ";

/// The settings of all fragments of an architecture.
pub(crate) struct Configuration {
    architecture: &'static Architecture,
    text: String,
    /// The settings of each section of the optional fragments, in order.
    sections: Vec<(String, String)>,
}

impl Configuration {
    /// Reads the fragments of a directory that an architecture's kernel is configured by, with or without
    /// the filesystems that only disk images have.
    ///
    /// # Errors
    /// If one cannot be read, or an option is set twice.
    pub(crate) fn read(
        directory: &Path,
        architecture: &'static Architecture,
        with_filesystems: bool,
    ) -> Result<Self> {
        let mut origins = BTreeMap::new();
        let (mut text, mut sections) = (String::new(), Vec::new());
        let filesystems = with_filesystems.then_some(FILESYSTEMS);
        let fragments = FRAGMENTS.into_iter().chain(architecture.fragment);
        for name in fragments.chain(filesystems) {
            let path = directory.join(name);
            let fragment = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let fragment = lines_of(architecture, &fragment);
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
        Ok(Self {
            architecture,
            text,
            sections,
        })
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
            let without = Self {
                architecture: self.architecture,
                text,
                sections: Vec::new(),
            };
            (heading.as_str(), without)
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
                .args(self.architecture.make_variables())
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

/// Returns the lines of a fragment that an architecture uses.
///
/// A comment that begins with an architecture's name is about options that only this one has: those
/// below it, up to the next comment or empty line.
fn lines_of(architecture: &Architecture, fragment: &str) -> String {
    let mut lines = String::new();
    let (mut is_in_comment, mut is_used) = (false, true);
    for line in fragment.lines() {
        match line.strip_prefix('#') {
            Some(comment) if !is_in_comment => is_used = is_about(architecture, comment),
            None if line.is_empty() => is_used = true,
            _ => {}
        }
        is_in_comment = line.starts_with('#');
        if is_used {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    lines
}

/// Returns true unless a comment begins with the name of another architecture.
fn is_about(architecture: &Architecture, comment: &str) -> bool {
    let Some((name, _)) = comment.trim_start().split_once(": ") else {
        return true;
    };
    let mut named = architecture::ALL.iter().map(|each| each.in_comments);
    name == architecture.in_comments || !named.any(|each| each == name)
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
        let configuration = Configuration {
            architecture: &architecture::ALL[0],
            text,
            sections,
        };
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
    fn options_of_another_architecture_are_left_out() {
        let fragment = "# why: because\nCONFIG_A=y\n# x86-64: one,\n# two: three\nCONFIG_B=y\n\n\
                        CONFIG_C=y\n# x86-64: four\nCONFIG_D=y\n# five\nCONFIG_E=y\n";
        let [x86_64, aarch64] = &architecture::ALL;
        assert_eq!(lines_of(x86_64, fragment), fragment);
        let lines = lines_of(aarch64, fragment);
        let options: Vec<_> = settings(&lines).map(|(option, _)| option).collect();
        assert_eq!(options, ["CONFIG_A", "CONFIG_C", "CONFIG_E"]);
    }

    #[test]
    fn the_fragments_agree() {
        let directory = test_fixtures::paths::root().join("kernel-config");
        for architecture in &architecture::ALL {
            let read = |with| Configuration::read(&directory, architecture, with);
            let configuration = read(false).expect("the fragments are readable");
            let larger = read(true).expect("the fragments are readable");
            assert!(larger.text().starts_with(configuration.text()));
            assert!(larger.text().contains("CONFIG_XFS_FS=y\n"));
            let has_option = |line| configuration.text().contains(line);
            assert!(has_option("CONFIG_64BIT=y\n"));
            assert_eq!(has_option("CONFIG_PVH=y\n"), architecture.name == "x86_64");
            assert_eq!(
                has_option("CONFIG_COMPAT=y\n"),
                architecture.name == "aarch64"
            );
        }
    }
}
