//! The rules of directories of the host.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use msb_runtime::{Rule, Rules};
use msb_sdk::{Mount, MountKind};

use msb_terminal::failure::Failure;

// The options for the files of directories of the host.
#[derive(Debug, clap::Args)]
pub(crate) struct RuleArguments {
    /// Set a state for files of -v DIR: allow, write-ask, read-only, ask, deny or hide
    ///
    /// PATH is relative to the directory, or absolute in the sandbox; * and ? stand for characters of a
    /// name, ** for any number of names, and a PATH without / for a name at any depth. The nearest rule
    /// wins. Hidden files are not in the sandbox. Changes of read-only files are never applied; in a directory
    /// that is not staged, they fail, and files with ask and write-ask ask you while the process waits.
    #[arg(long, value_name = "PATH=STATE")]
    rule: Vec<OsString>,
    /// Read rules from a file, one PATH=STATE on each line
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// Leave out the default rules for staged files
    ///
    /// They hide secrets such as .env, and keep back changes that make programs of this host run commands.
    #[arg(long)]
    no_default_rules: bool,
}

impl RuleArguments {
    /// Returns the mounts with the rules, which each directory of the host gets as far as they concern it.
    pub(super) fn given_to(&self, mut mounts: Vec<Mount>) -> Result<Vec<Mount>, Failure> {
        let rules = self.read()?;
        let targets = mounts.iter().filter(|mount| takes_rules(mount));
        let targets: Vec<String> = targets.map(|mount| mount.target.clone()).collect();
        if targets.is_empty() && !rules.given().is_empty() {
            let message = "rules are for directories of the host: give one with -v DIR:PATH or -v DIR:PATH:staged";
            return Err(anyhow::anyhow!(message).into());
        }
        if self.no_default_rules && !mounts.iter().any(is_staged) {
            let message =
                "default rules are for staged directories: give one with -v DIR:PATH:staged";
            return Err(anyhow::anyhow!(message).into());
        }
        for rule in rules.given() {
            for mount in mounts.iter().filter(|mount| takes_rules(mount)) {
                let source = mount.source.as_deref().unwrap_or_default();
                check_path(rule, Path::new(source), &mount.target, &targets)?;
            }
        }
        for mount in mounts.iter_mut().filter(|mount| takes_rules(mount)) {
            mount.default_rules = !(self.no_default_rules && is_staged(mount));
            for rule in rules.given() {
                mount
                    .rules
                    .extend(for_directory(rule, &mount.target, &targets)?);
            }
        }
        Ok(mounts)
    }

    /// Returns the given rules, those of files first.
    fn read(&self) -> Result<Rules, anyhow::Error> {
        let mut rules = Rules::new();
        for path in &self.rules {
            let content = std::fs::read(path);
            let content = content.with_context(|| format!("cannot read {}", path.display()))?;
            let read = rules.read_file(&content);
            read.with_context(|| format!("cannot use the rules in {}", path.display()))?;
        }
        for rule in &self.rule {
            rules.push(Rule::parse(rule.as_bytes())?)?;
        }
        Ok(rules)
    }
}

fn takes_rules(mount: &Mount) -> bool {
    matches!(mount.kind, MountKind::Bind | MountKind::Staged)
}

fn is_staged(mount: &Mount) -> bool {
    mount.kind == MountKind::Staged
}

/// Checks that the path of a rule is not one of the host in the directory `source`. As a path relative to the
/// directory it would match nothing.
fn check_path(
    rule: &Rule,
    source: &Path,
    target: &str,
    targets: &[String],
) -> Result<(), anyhow::Error> {
    let path = rule.pattern().as_bytes();
    if targets.iter().any(|target| below(path, target).is_some()) {
        return Ok(());
    }
    let known = [std::path::absolute(source).ok(), source.canonicalize().ok()];
    for source in known
        .iter()
        .flatten()
        .filter(|source| source.parent().is_some())
    {
        let inner = source.to_str().and_then(|source| below(path, source));
        if let Some(inner) = inner {
            let inner = String::from_utf8_lossy(inner);
            let inner = terminal_text::escaped(&inner);
            let separator = if inner.is_empty() { "" } else { "/" };
            anyhow::bail!(
                "the rule '{rule}' has a path of this host: write the path in the sandbox, \
                 {}{separator}{inner}",
                target.trim_end_matches('/')
            );
        }
    }
    Ok(())
}

/// Returns a rule as the directory at `target` gets it. An absolute path in one of the directories is a path of
/// that one alone; any other is relative to each of them.
fn for_directory(
    rule: &Rule,
    target: &str,
    targets: &[String],
) -> Result<Option<Rule>, anyhow::Error> {
    let path = rule.pattern().as_bytes();
    if !targets.iter().any(|target| below(path, target).is_some()) {
        return Ok(Some(rule.clone()));
    }
    let Some(path) = below(path, target) else {
        return Ok(None);
    };
    let text = [b"/", path, b"=", rule.state().to_string().as_bytes()].concat();
    Ok(Some(Rule::parse(&text)?))
}

/// Returns an absolute path relative to the directory at `target`; `None` if it is not in there.
fn below<'p>(path: &'p [u8], target: &str) -> Option<&'p [u8]> {
    let rest = path.strip_prefix(target.trim_end_matches('/').as_bytes())?;
    match rest {
        b"" => Some(rest),
        _ => rest.strip_prefix(b"/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_host_is_refused_with_the_one_in_the_sandbox() {
        let parent = tempfile::tempdir().expect("a directory");
        let real = parent.path().canonicalize().expect("there").join("real");
        let link = parent.path().join("link");
        std::fs::create_dir(&real).expect("made");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        let source = link.to_str().expect("text");
        let check = |path: &str, source: &str, target: &str| {
            let rule = format!("{path}=hide").parse().expect("a rule");
            check_path(&rule, Path::new(source), target, &[target.to_owned()])
        };
        for host in [&link, &real] {
            for (inner, shown) in [("/deep/key", "/work/deep/key"), ("", "/work")] {
                let path = format!("{}{inner}", host.display());
                let refused = check(&path, source, "/work")
                    .expect_err("of the host")
                    .to_string();
                assert!(
                    refused.ends_with(&format!("in the sandbox, {shown}")),
                    "{refused}"
                );
            }
        }
        let beside = format!("{}-other/key", real.display());
        let inner = format!("{}/key", real.display());
        for (path, source, target) in [
            ("key", source, "/work"),
            ("/key", source, "/work"),
            ("/work/key", source, "/work"),
            (&beside, source, "/work"),
            ("/key", "/", "/work"),
            // The sandbox has the directory at the same path.
            (&inner, source, real.to_str().expect("text")),
        ] {
            assert!(
                check(path, source, target).is_ok(),
                "{path} {source} {target}"
            );
        }
    }

    #[test]
    fn an_absolute_path_is_one_of_its_directory() {
        let targets = ["/work".to_owned(), "/other".to_owned()];
        let given = |rule: &str, target: &str| {
            let rule = rule.parse().expect("a rule");
            let rule = for_directory(&rule, target, &targets).expect("a rule");
            rule.map(|rule| rule.to_string())
        };
        assert_eq!(given("/work/a=hide", "/work").as_deref(), Some("/a=hide"));
        assert_eq!(given("/work/a=hide", "/other"), None);
        assert_eq!(given("/work=deny", "/work").as_deref(), Some("/=deny"));
        assert_eq!(given(".env=hide", "/other").as_deref(), Some(".env=hide"));
        assert_eq!(given("/docs=deny", "/work").as_deref(), Some("/docs=deny"));
        assert_eq!(
            given("/workshop=deny", "/work").as_deref(),
            Some("/workshop=deny")
        );
    }
}
