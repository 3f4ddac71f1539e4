//! The sandboxes on a disk after a power cut.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use serde_json::Value;

use super::history::History;
use super::images::rows;
use super::judge::keeps;
use super::listing::{Listing, difference, list};
use super::mount::Mount;
use super::replay::remove_mounted;
use test_fixtures::command::quiet;
use test_support::{Msb, succeed, upper_disk};

/// The file that the workload copies into each sandbox.
pub(super) const KEPT: &str = "kept";
/// The image of a native root that is made after the cut.
const IMAGE: &str = "127.0.0.1:5000/p:latest";
/// The age at which a sandbox's directory without a description is a leftover.
const LEFT_OVER_AGE: Duration = Duration::from_secs(120);

/// The sandboxes of an msb.
pub(super) struct Sandboxes<'a> {
    pub(super) msb: &'a Msb,
    /// The directory for raw disks and mounts.
    pub(super) work: &'a Path,
}

/// A sandbox that msb lists.
struct Listed {
    name: String,
    directory: PathBuf,
    has_native_root: bool,
}

/// Returns the content of [`KEPT`].
pub(super) fn kept() -> Vec<u8> {
    let lines = (0..20_000).map(|number| format!("{number}\n"));
    lines.collect::<String>().into_bytes()
}

impl Sandboxes<'_> {
    /// Checks that the disks of all sandboxes and snapshots need no repair, and that those of native roots
    /// have `shown`, the image's files. Returns the names of those that have the file [`KEPT`].
    pub(super) fn disks(&self, shown: &[(&str, Listing)]) -> Result<Vec<String>> {
        let snapshots = self.snapshots()?;
        let mut having = Vec::new();
        for sandbox in self.listed()? {
            let is_of_it = |disk: &&String| disk.split('@').next() == Some(&*sandbox.name);
            let snapshots = snapshots.iter().filter(is_of_it);
            for disk in std::iter::once(&sandbox.name).chain(snapshots) {
                let raw = self.raw(&sandbox, disk).with_context(|| disk.clone())?;
                let has_kept = self.has_kept(&sandbox, &raw, shown);
                if has_kept.with_context(|| disk.clone())? {
                    having.push(disk.clone());
                }
            }
        }
        Ok(having)
    }

    /// Returns a raw disk with the content of that of a sandbox, or of one of its snapshots, by its name.
    fn raw(&self, sandbox: &Listed, disk: &str) -> Result<PathBuf> {
        let raw = self.work.join("raw.ext4");
        remove_mounted(&raw)?;
        if let Some((_, snapshot)) = disk.split_once('@') {
            upper_disk::export_snapshot(&sandbox.directory, snapshot, &raw)?;
        } else {
            upper_disk::export(&sandbox.directory.join("generations"), &raw)?;
        }
        Ok(raw)
    }

    /// Checks a disk of a sandbox. Returns true if it has the file [`KEPT`], which must be intact.
    fn has_kept(&self, sandbox: &Listed, raw: &Path, shown: &[(&str, Listing)]) -> Result<bool> {
        quiet(Command::new("e2fsck").arg("-fn").arg(raw))?;
        let mount = Mount::new(raw, self.work.join("upper"), "loop")?;
        let root = mount.target.join("upper");
        ensure!(root.is_dir(), "the upper is empty");
        if sandbox.has_native_root {
            for (directory, files) in shown {
                let difference = difference(files, &list(&root.join(directory))?);
                ensure!(difference.is_none(), "{directory}: {difference:?}");
            }
        }
        let path = root.join(KEPT);
        if !path.exists() {
            return Ok(false);
        }
        ensure!(fs::read(path)? == kept(), "{KEPT} has another content");
        Ok(true)
    }

    /// Checks that the sandboxes, snapshots and files that exist are those that the commands promise.
    pub(super) fn promises(&self, history: &History, files: &[String]) -> Result<()> {
        let listed = self.listed()?.into_iter().map(|sandbox| sandbox.name);
        let listed: Vec<String> = listed.collect();
        let snapshots = self.snapshots()?;
        keeps("sandbox", &history.sandboxes, &listed)?;
        let mut promised = history.snapshots.clone();
        // The snapshots of a sandbox that may be removed are removed with it.
        promised.retain(|name, _| {
            name.split_once('@')
                .is_some_and(|(of, _)| is_in(&listed, of))
        });
        keeps("snapshot", &promised, &snapshots)?;
        let mut promised = history.files.clone();
        promised.retain(|name, _| is_in(&listed, name) || is_in(&snapshots, name));
        keeps("the file of", &promised, files)
    }

    /// Makes a sandbox with a native root, and of each sandbox a snapshot, a fork and a rollback; merges, and
    /// checks all disks.
    pub(super) fn go_on(&self, shown: &[(&str, Listing)]) -> Result<()> {
        let run = |words: &[&str]| succeed(&mut self.msb.command(words)).map(drop);
        let native = ["create", "--native-root", "--upper-size", "64M"];
        let named = ["--name", "later", "--pull", "never", IMAGE];
        run(&[&native[..], &named].concat())?;
        for Listed { name, .. } in self.listed()? {
            let snapshot = format!("{name}@later");
            run(&["snapshot", "create", &snapshot])?;
            run(&["fork", &snapshot, &format!("{name}-fork")])?;
            run(&["rollback", &snapshot])?;
            run(&["snapshot", "prune", "--force", &name])?;
            run(&["snapshot", "verify", &name])?;
        }
        self.disks(shown).map(drop)
    }

    /// Removes all sandboxes, and checks that nothing is left of them.
    pub(super) fn clear(&self) -> Result<()> {
        for sandbox in self.listed()? {
            succeed(&mut self.msb.command(&["rm", &sandbox.name]))?;
        }
        let directory = self.msb.home.join("sandboxes");
        if !directory.exists() {
            return Ok(());
        }
        for entry in fs::read_dir(&directory)? {
            let remains = fs::File::open(entry?.path())?;
            remains
                .file()
                .set_modified(SystemTime::now() - LEFT_OVER_AGE)?;
        }
        succeed(&mut self.msb.command(&["ps"]))?;
        let left = fs::read_dir(&directory)?.count();
        ensure!(left == 0, "{left} directories of no sandbox are left");
        Ok(())
    }

    fn listed(&self) -> Result<Vec<Listed>> {
        let rows = rows(self.msb, &["ps", "--all", "--format", "json"])?;
        let listed = rows.iter().map(|row| {
            let id = row["id"].as_str()?;
            Some(Listed {
                name: row["name"].as_str()?.to_owned(),
                directory: self.msb.home.join("sandboxes").join(id),
                has_native_root: row["native_root"].as_bool()?,
            })
        });
        let listed: Option<Vec<Listed>> = listed.collect();
        listed.with_context(|| format!("a sandbox lacks something: {rows:?}"))
    }

    /// Returns the names of all snapshots, each behind that of its sandbox.
    fn snapshots(&self) -> Result<Vec<String>> {
        let rows = rows(self.msb, &["snapshot", "ls", "--format", "json"])?;
        let name = |row: &Value| {
            let (sandbox, name) = (row["sandbox"].as_str()?, row["name"].as_str()?);
            Some(format!("{sandbox}@{name}"))
        };
        let names: Option<Vec<String>> = rows.iter().map(name).collect();
        names.with_context(|| format!("a snapshot lacks its name: {rows:?}"))
    }
}

fn is_in(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}
