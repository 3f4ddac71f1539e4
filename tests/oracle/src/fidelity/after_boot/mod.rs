//! Changes of programs to an image's files in a running sandbox: overlayfs on EROFS and ext4.

mod image;

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::fixture::Fixture;
use test_support::{succeed, upper_disk};

/// A check: its name, the operation, and the expected result.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) case: &'static str,
    pub(super) right: &'static str,
}

const fn check(name: &'static str, case: &'static str, right: &'static str) -> Check {
    Check { name, case, right }
}

/// The functions of `checks.py`, in their order.
pub(super) const CHECKS: &[Check] = &[
    check(
        "rename_directory",
        "rename of a lower directory",
        "done; less than 1 MiB of the upper",
    ),
    check(
        "chmod",
        "chmod of a lower file of 8 MiB",
        "less than 1 MiB of the upper",
    ),
    check(
        "chown",
        "chown of every file in a lower directory",
        "less than 1 MiB of the upper",
    ),
    check("setxattr", "xattrs of a lower file set and removed", "done"),
    check(
        "link",
        "a new hard link to a lower file, then a write",
        "both names show it",
    ),
    check(
        "hard_links",
        "a write through one of two lower hard links",
        "the other shows it",
    ),
    check(
        "inode_numbers",
        "inode numbers over chmod and copy-up",
        "stable",
    ),
    check("types", "`d_type` in readdir", "right"),
    check(
        "unlink_open",
        "a lower file removed while it is open",
        "still read",
    ),
    check(
        "mappings",
        "mmap of a lower file, shared and private",
        "right",
    ),
    check(
        "execute",
        "exec of a lower file, before and after a rename",
        "runs",
    ),
    check(
        "capabilities",
        "file capabilities of an image",
        "hold for a user without rights",
    ),
    check(
        "access_lists",
        "POSIX ACLs of an image",
        "apply, also to a changed file",
    ),
    check("set_access_lists", "setfacl", "applies"),
    check(
        "full_disk",
        "a full upper",
        "ENOSPC, nothing broken, `e2fsck -fn` clean",
    ),
    check(
        "changing_directory",
        "readdir of 100,000 names while some come and go",
        "each of the others once",
    ),
    check(
        "remove_and_create",
        "`rm -rf /usr/*`, then new files",
        "nothing comes back",
    ),
];

/// Programs that run in images with few files.
pub(super) const PROGRAMS: &[Check] = &[
    check(
        "static",
        "an image of one static binary: no shell, no `/tmp`, no `/etc/passwd`",
        "runs",
    ),
    check(
        "user",
        "a user and a group without entries in `/etc/passwd` and `/etc/group`",
        "runs as them",
    ),
    check("symlinks", "`/etc` and `/bin` are symlinks", "runs"),
];

const NAME: &str = "after-boot";
const IMAGE: &str = "localhost/fidelity/after-boot:latest";
const SYMLINKS: &str = "localhost/fidelity/symlinks:latest";
const SCRIPT: &str = include_str!("checks.py");

/// The result of each check.
pub(super) type Findings = BTreeMap<&'static str, Result<(), String>>;

/// Runs every check and returns its result.
pub(super) fn judge(fixture: &Fixture) -> Result<Findings> {
    let mut findings = guest_checks(fixture)?;
    fixture.load(SYMLINKS, &[image::symlinks(&fixture.tree_dump)?])?;
    for (check, result) in PROGRAMS.iter().zip(programs(fixture)) {
        findings.insert(check.name, result.map_err(|error| format!("{error:#}")));
    }
    Ok(findings)
}

/// Runs the script's checks, all in one guest.
fn guest_checks(fixture: &Fixture) -> Result<Findings> {
    fixture.load(IMAGE, &image::changed()?)?;
    let arguments = ["-i", "--name", NAME, IMAGE, "python3", "-"];
    let said = String::from_utf8(fixture.run(&arguments, SCRIPT.as_bytes())?.stdout)?;
    let results: Vec<(&str, &str)> = said
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    ensure!(
        results
            .iter()
            .map(|(name, _)| *name)
            .eq(CHECKS.iter().map(|check| check.name)),
        "the guest said: {said}"
    );
    let finding = |result: &str| match result {
        "ok" => Ok(()),
        fault => Err(fault.to_owned()),
    };
    let named = CHECKS.iter().zip(&results);
    let mut findings: Findings = named
        .map(|(check, (_, result))| (check.name, finding(result)))
        .collect();
    if let Err(error) = sound_upper(fixture) {
        findings.insert("full_disk", Err(format!("{error:#}")));
    }
    Ok(findings)
}

/// Checks that the upper disk has no faults once the sandbox has stopped.
fn sound_upper(fixture: &Fixture) -> Result<()> {
    let listed = succeed(&mut fixture.msb.command(&["ps", "-a", "--format", "json"]))?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    let all = listed.as_array().context("no list")?;
    let found = all.iter().find(|sandbox| sandbox["name"] == NAME);
    let id = found
        .and_then(|sandbox| sandbox["id"].as_str())
        .context("no such sandbox")?;
    let upper = upper_disk::only_file(&fixture.msb.home.join("sandboxes").join(id))?;
    succeed(Command::new("e2fsck").arg("-fn").arg(upper))?;
    succeed(&mut fixture.msb.command(&["rm", NAME]))?;
    Ok(())
}

fn programs(fixture: &Fixture) -> [Result<()>; 3] {
    let shows = |options: &[&str], program: &str, path: &str, what: &str| {
        let mut arguments = vec!["--rm"];
        arguments.extend(options);
        arguments.extend([SYMLINKS, program, path]);
        let said = fixture.run(&arguments, b"")?;
        let said = String::from_utf8_lossy(&said.stdout);
        ensure!(said.contains(what), "the guest said: {said}");
        Ok(())
    };
    let program = "/usr/bin/tree-dump";
    [
        shows(&[], program, "/usr", "/bin/tree-dump - 0755"),
        shows(
            &["-u", "4242:4343"],
            program,
            "/proc/self/ns",
            " 4242:4343 ",
        ),
        shows(&[], "/bin/tree-dump", "/", "/bin l 0777"),
    ]
}
