//! The sandboxes with two staged directories, and the things that operations change of it, as lines.

use std::process::Command;

use anyhow::{Result, ensure};
use fs_err as fs;
use test_support::{succeed, upper_disk};

use super::observe::{files_below, lines};
use super::world::{IMAGE, STAGED, STAGED_SNAPPED, TEXTS, World};

/// The directories of the host.
const REPOSITORY: &str = "repository";
const SECOND: &str = "second";
/// The text that the sandbox gave a file of each directory.
const OF_THE_SANDBOX: &str = "of the sandbox";
/// The sandbox's changes: the number of the staged directory, its directory on the host, its path in the sandbox,
/// the file, and the text of which it has many.
const CHANGES: [(usize, &str, &str, &str, &str); 4] = [
    (0, REPOSITORY, "/work", "edited", OF_THE_SANDBOX),
    (0, REPOSITORY, "/work", "added", "4"),
    (0, REPOSITORY, "/work", BOTH, "5"),
    (1, SECOND, "/second", "edited", OF_THE_SANDBOX),
];
/// The file that the host changes in the same way.
const BOTH: &str = "both";

impl World {
    /// Returns the option that stages the first of the directories.
    pub(super) fn staged_mount(&self) -> String {
        format!("{}:/work:staged", self.path(REPOSITORY))
    }

    /// Makes the sandboxes with staged directories, and the change that the host makes, too.
    pub(super) fn make_staged(&self) -> Result<()> {
        let files = [("same", "1"), ("edited", "2"), (BOTH, "3")];
        self.make_project(REPOSITORY, &files)?;
        self.make_project(SECOND, &[("same", "1"), ("edited", "2")])?;
        for name in [STAGED, STAGED_SNAPPED] {
            self.make_staged_one(name)?;
        }
        let snapshot = format!("{STAGED_SNAPPED}@first");
        succeed(&mut self.command(&["snapshot", "create", &snapshot]))?;
        for (_, directory, _, name, text) in CHANGES {
            if name == BOTH {
                fs::write(self.root.join(directory).join(name), text.repeat(TEXTS))?;
            }
        }
        Ok(())
    }

    /// Makes a sandbox with staged directories. Its changes are put on its disk as the kernel's overlay keeps them.
    fn make_staged_one(&self, sandbox: &str) -> Result<()> {
        let second = format!("{}:/second:staged", self.path(SECOND));
        let mut create = self.command(&["create", "--name", sandbox, "--upper-size", "32M"]);
        create.args(["-v", &self.staged_mount(), "-v", &second]);
        succeed(create.arg(IMAGE))?;
        let disk = upper_disk::only_file(&self.directory(sandbox)?)?;
        let content = self.root.join("content");
        for (number, _, _, name, text) in CHANGES {
            fs::write(&content, text.repeat(TEXTS))?;
            let upper = format!("/staged/{number}/upper/{name}");
            let written = format!("write {} {upper}", content.display());
            let mut debugfs = Command::new("debugfs");
            let output = succeed(debugfs.args(["-w", "-R", &written]).arg(&disk))?;
            let told = String::from_utf8_lossy(&output.stderr);
            ensure!(!told.contains("not found"), "{told}");
        }
        fs::remove_file(content)?;
        Ok(())
    }
}

/// Returns the files of the first directory that are old or new, each with the digest of its content.
pub(super) fn repository_files(world: &World) -> Result<Vec<String>> {
    files_below(world, REPOSITORY, &["same", "edited", BOTH, "added"])
}

/// Returns the files of both directories that are old or new.
pub(super) fn files_of_both(world: &World) -> Result<Vec<String>> {
    let mut found = repository_files(world)?;
    let second = files_below(world, SECOND, &["same", "edited"])?;
    found.extend(second.into_iter().map(|line| format!("second: {line}")));
    Ok(found)
}

/// Returns the files of both directories, the changes that the sandbox has, and those that neither has, which would
/// be lost.
pub(super) fn brought_home(world: &World) -> Result<Vec<String>> {
    let mut found = files_of_both(world)?;
    let changes = staged_changes(world)?;
    for (_, directory, target, name, text) in CHANGES {
        let content = fs::read(world.root.join(directory).join(name));
        let is_applied = content.is_ok_and(|content| content == text.repeat(TEXTS).as_bytes());
        let path = format!("{target}/{name}");
        if !is_applied && !changes.iter().any(|change| change.ends_with(&path)) {
            found.push(format!("{path} is lost"));
        }
    }
    found.extend(changes);
    Ok(found)
}

/// Returns the changes of the sandbox to its staged directories: one of them is none once the host's change is staged.
pub(super) fn staged_changes(world: &World) -> Result<Vec<String>> {
    lines(world, &["diff", STAGED])
}

/// Returns the changes of the sandbox with a snapshot, and those that the snapshot has over the files of its time.
pub(super) fn staged_changes_since_snapshot(world: &World) -> Result<Vec<String>> {
    let mut found = lines(world, &["diff", STAGED_SNAPPED])?;
    found.extend(lines(world, &["diff", &format!("{STAGED_SNAPPED}@first")])?);
    Ok(found)
}

/// Returns the mounts of the sandbox, which have the rules of its staged directories.
pub(super) fn staged_rules(world: &World) -> Result<Vec<String>> {
    lines(world, &["inspect", "--format", "{{json .mounts}}", STAGED])
}
