//! Other programs, and msb's own `apply`, against what the guest saw.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, ensure};
use fs_err as fs;
use test_support::{Msb, TestEnv, oci_layout, succeed, trees};

use super::guest::{self, shown};
use super::{DIRECTORIES, image};
use crate::engines::{Case, Program, Tree};

/// The engines that give a directory of a lower layer the xattrs of a higher one, and take none away.
const IN_PLACE: [&str; 2] = ["containerd-naive", "moby-naive"];

/// The programs that an image has to agree with.
pub(super) struct Judges<'a> {
    msb: Msb,
    work: &'a Path,
    tree_dump: &'a Path,
    engines: Program,
    /// The layout of the base image.
    base: PathBuf,
    /// The base image's tree.
    base_tree: String,
}

impl<'a> Judges<'a> {
    /// Builds the engines, and takes the tree of the base image.
    pub(super) fn new(env: &'a TestEnv, tree_dump: &'a Path) -> Result<Self> {
        let mut judges = Self {
            msb: env.home_msb(),
            work: &env.work,
            tree_dump,
            engines: Program::build("guest-changes", &[])?,
            base: PathBuf::new(),
            base_tree: String::new(),
        };
        judges.base = judges.save(image::NAME, "base-saved")?;
        judges.base_tree = judges.tree(image::NAME, &judges.base)?;
        Ok(judges)
    }

    /// Checks that an image has what the guest saw, and all else as the base has it: for umoci and
    /// the appliers of containerd and moby, and as the host's kernel mounts msb's own merged image.
    pub(super) fn image(&self, name: &str, seen: &str, what: &str) -> Result<()> {
        let layout = self.save(name, "saved")?;
        let tree = self.tree(name, &layout).context(what.to_owned())?;
        trees::compare("the guest", seen, what, &shown(&tree))?;
        trees::compare("the base", &outside(&self.base_tree), what, &outside(&tree))?;
        let layers = oci_layout::read(&layout)?.into_iter();
        let case = Case::new(what, layers.map(|layer| layer.bytes).collect());
        for verdicts in self.engines.judge(&[case])? {
            for (engine, found) in verdicts.engines {
                let found = found.map_err(|error| anyhow!("{engine} refuses {what}: {error}"))?;
                let is_in_place = IN_PLACE.contains(&&*engine);
                let expected = Tree::parse(&tree);
                let (expected, found) = if is_in_place {
                    (
                        expected.without_directory_xattrs(),
                        found.without_directory_xattrs(),
                    )
                } else {
                    (expected, found)
                };
                let difference = expected.difference(&found);
                ensure!(
                    difference.is_none(),
                    "{what}: msb / {engine}: {}",
                    difference.unwrap_or_default()
                );
            }
        }
        Ok(fs::remove_dir_all(layout)?)
    }

    /// Checks that `msb apply` makes what the guest saw of a copy of the base, in all that it
    /// promises: names, types, contents, targets, owners and permissions. The directories with devices,
    /// which it refuses, are left out.
    pub(super) fn applied(&self, seen: &str, what: &str) -> Result<()> {
        let bundle = self.work.join("copy");
        let image = format!("{}:latest", self.base.display());
        let mut unpack = Command::new("umoci");
        succeed(unpack.args(["unpack", "--image", &image]).arg(&bundle))?;
        let directory = bundle.join("rootfs");
        let paths = image::without_devices(DIRECTORIES);
        let apply = || {
            let mut apply = self.msb.command(&["apply", "--owner", guest::NAME]);
            succeed(apply.arg(&directory).args(&paths))
        };
        apply()?;
        let tree = succeed(Command::new(self.tree_dump).arg(&directory))?;
        let tree = std::str::from_utf8(&tree.stdout)?;
        let (seen, tree) = (promised(seen, &paths), promised(&shown(tree), &paths));
        trees::compare("the guest", &seen, &format!("{what}, applied"), &tree)?;
        let again = apply()?;
        let again = String::from_utf8_lossy(&again.stdout).into_owned();
        ensure!(
            again.is_empty(),
            "{what} was applied, and is applied again: {again}"
        );
        Ok(fs::remove_dir_all(bundle)?)
    }

    /// Removes what the judges made.
    pub(super) fn remove(self) -> Result<()> {
        Ok(fs::remove_dir_all(self.base)?)
    }

    /// Saves an image as an OCI layout.
    fn save(&self, name: &str, directory: &str) -> Result<PathBuf> {
        let layout = self.work.join(directory);
        let mut save = self
            .msb
            .command(&["save", "-q", "--format", "oci-dir", "-o"]);
        succeed(save.arg(&layout).arg(name))?;
        Ok(layout)
    }

    /// Returns the tree that umoci and the host's kernel agree about.
    fn tree(&self, name: &str, layout: &Path) -> Result<String> {
        trees::host_tree(&self.msb, name, layout, self.tree_dump, self.work)
    }
}

/// Returns the lines of a dump outside of the directories that are changed. The root's is not among
/// them: its time changes with the mount points in it.
fn outside(dump: &str) -> String {
    let changed = shown(dump);
    let changed: std::collections::BTreeSet<&str> = changed.lines().collect();
    let lines = dump.lines().skip(1).filter(|line| !changed.contains(line));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Returns what `msb apply` promises of these directories: the fields of a dump but for time, device
/// number, other names of the file and xattrs.
fn promised(dump: &str, directories: &[String]) -> String {
    const FIELDS: [usize; 7] = [0, 1, 2, 3, 4, 7, 10];
    let is_meant = |path: &str| {
        let mut rests = directories
            .iter()
            .filter_map(|directory| path.strip_prefix(&**directory));
        rests.any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let shown = FIELDS.map(|field| fields.get(field).copied().unwrap_or_default());
        is_meant(shown[0]).then(|| format!("{}\n", shown.join(" ")))
    };
    dump.lines().filter_map(line).collect()
}
