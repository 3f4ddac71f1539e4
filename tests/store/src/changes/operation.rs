use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::super::system_calls::trace_calls;
use super::super::told;
use super::observe::{
    changes, changes_since_snapshots, commanded, committed_image, forks, merged, packed_layers,
    project_files, pushed_image, saved_archive, saved_layout, snapped, snapshots, unpacked_layers,
};
use super::staged::{
    brought_home, files_of_both, repository_files, staged_changes, staged_changes_since_snapshot,
    staged_rules,
};
use super::step::{NAMES, Step, steps};
use super::world::{
    BEFORE, CHANGED, COMMANDED, COMMITTED, EXPORTED, FORK, IMAGE, PACKED, SNAPPED, STAGED,
    STAGED_SNAPPED, World,
};

/// A command of msb, and what it changes.
pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) arguments: Vec<String>,
    /// Returns what the operation changes, as lines.
    observe: fn(&World) -> Result<Vec<String>>,
    /// True if each line is old or new by itself; otherwise all are.
    by_line: bool,
    /// True if another command does the rest once the first step is written down.
    pub(super) is_finished_by_others: bool,
    /// True if the command refuses to run when it is done already.
    pub(super) is_once: bool,
    /// True if the command syncs all of its new files at once, where the filesystem can.
    pub(super) syncs_at_once: bool,
    /// The most space that the command needs, in KiB; 0 if it needs none.
    pub(super) needs_kib: u64,
}

/// An operation's course if nothing disturbs it.
pub(super) struct Undisturbed {
    pub(super) steps: Vec<Step>,
    /// Number of calls that change something; calls of several threads may be the same step.
    pub(super) call_count: usize,
    old: Vec<String>,
    new: Vec<String>,
    /// The paths of all files afterwards.
    pub(super) names: Vec<PathBuf>,
}

/// The state that an operation has left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Outcome {
    pub(super) is_old: bool,
    pub(super) is_new: bool,
}

/// Returns the operations.
pub(super) fn all(world: &World) -> Vec<Operation> {
    let (project, archive) = (world.path("project"), world.path("archive.tar"));
    let (layout, exported) = (world.path("layout"), world.path(EXPORTED));
    let reference = world.registry.reference();
    let first = format!("{SNAPPED}@first");
    let operation = |name, words: &[&str], observe, needs_kib| Operation {
        name,
        arguments: words.iter().map(|&word| word.to_owned()).collect(),
        observe,
        by_line: false,
        is_finished_by_others: false,
        is_once: false,
        syncs_at_once: false,
        needs_kib,
    };
    let apply = [
        "apply", "--from", "/work", "--base", BEFORE, CHANGED, &project,
    ];
    let (copied, staged) = (format!("{project}:/work"), world.staged_mount());
    let create_staged = [
        "create",
        "--upper-size",
        "32M",
        "-v",
        &staged,
        "--name",
        FORK,
        IMAGE,
    ];
    let native = [
        "create",
        "--native-root",
        "--upper-size",
        "64M",
        "--copy",
        &copied,
        "--name",
        FORK,
        IMAGE,
    ];
    vec![
        Operation {
            by_line: true,
            is_finished_by_others: true,
            syncs_at_once: true,
            ..operation("apply", &apply, project_files, 400)
        },
        Operation {
            by_line: true,
            is_finished_by_others: true,
            ..operation(
                "apply of a staged directory",
                &["apply", STAGED, "--", "/work"],
                repository_files,
                250,
            )
        },
        Operation {
            by_line: true,
            ..operation(
                "apply of two staged directories",
                &["apply", STAGED],
                files_of_both,
                500,
            )
        },
        // The changes are discarded once all are in the directories.
        Operation {
            by_line: true,
            ..operation(
                "apply and discard",
                &["apply", "--then-discard", STAGED],
                brought_home,
                900,
            )
        },
        operation(
            "allow",
            &["allow", STAGED, "/work/same=read-only"],
            staged_rules,
            10,
        ),
        operation("restage", &["restage", STAGED], staged_changes, 500),
        operation(
            "restage with snapshots",
            &["restage", STAGED_SNAPPED],
            staged_changes_since_snapshot,
            500,
        ),
        operation("discard", &["discard", CHANGED, "/etc"], changes, 600),
        operation(
            "discard with snapshots",
            &["discard", SNAPPED, "/"],
            changes_since_snapshots,
            500,
        ),
        operation(
            "commit",
            &["commit", CHANGED, COMMITTED],
            committed_image,
            600,
        ),
        // Each layer is in one form at any time.
        Operation {
            by_line: true,
            ..operation("image pack", &["image", "pack", IMAGE], packed_layers, 40)
        },
        operation(
            "image unpack",
            &["image", "unpack", PACKED],
            unpacked_layers,
            90,
        ),
        operation("save", &["save", "-o", &archive, IMAGE], saved_archive, 100),
        Operation {
            is_once: true,
            ..operation(
                "save of a directory",
                &["save", "--format", "oci-dir", "-o", &layout, IMAGE],
                saved_layout,
                100,
            )
        },
        Operation {
            is_once: true,
            ..operation(
                "snapshot create",
                &["snapshot", "create", &format!("{CHANGED}@kept")],
                snapshots,
                60,
            )
        },
        // The automatic snapshot comes before the disk is set back.
        Operation {
            by_line: true,
            ..operation("rollback", &["rollback", &first], snapped, 60)
        },
        // The line of the journal comes last; without it, the same undo is made again.
        Operation {
            by_line: true,
            is_once: true,
            ..operation("undo", &["undo", COMMANDED], commanded, 60)
        },
        Operation {
            is_once: true,
            ..operation("snapshot rm", &["snapshot", "rm", &first], snapshots, 0)
        },
        // The list of the disk and that of each snapshot are replaced one after the other.
        Operation {
            by_line: true,
            ..operation(
                "snapshot prune",
                &["snapshot", "prune", "--force", SNAPPED],
                merged,
                60,
            )
        },
        Operation {
            is_once: true,
            ..operation("fork", &["fork", &first, FORK], forks, 60)
        },
        Operation {
            is_once: true,
            ..operation("create with a native root", &native, forks, 150)
        },
        Operation {
            is_once: true,
            ..operation("create with a staged directory", &create_staged, forks, 250)
        },
        operation(
            "snapshot export",
            &["snapshot", "export", "-o", &archive, &first],
            saved_archive,
            10,
        ),
        Operation {
            is_once: true,
            ..operation(
                "snapshot import",
                &["snapshot", "import", "-i", &exported, FORK],
                forks,
                500,
            )
        },
        operation("push", &["push", "-q", IMAGE, &reference], pushed_image, 0),
    ]
}

impl Operation {
    pub(super) fn command(&self, world: &World) -> Command {
        let mut command = world.command(&[]);
        command.args(&self.arguments);
        // The same changes make the same image each time.
        command.env("SOURCE_DATE_EPOCH", "1000000000");
        command
    }

    /// Runs the operation, and records its steps and its result.
    pub(super) fn undisturbed(&self, world: &World) -> Result<Undisturbed> {
        world.reset()?;
        let old = (self.observe)(world)?;
        let traced = trace_calls(NAMES, &self.command(world), None, &world.log)?;
        let output = traced.output.context("it does not end")?;
        ensure!(output.status.success(), "{}", told(&output));
        let new = (self.observe)(world)?;
        ensure!(old != new, "it changes nothing");
        world.expect_whole()?;
        let (steps, call_count) = steps(&traced.calls, &world.root, &|path| {
            world.is_new_sandbox(path)
                || world.is_staged_image(path)
                || world.is_record_of_apply(path)
        });
        Ok(Undisturbed {
            steps,
            call_count,
            old,
            new,
            names: world.names()?,
        })
    }

    /// Returns the state that the operation has left, which must not be half.
    pub(super) fn outcome(&self, world: &World, undisturbed: &Undisturbed) -> Result<Outcome> {
        let Undisturbed { old, new, .. } = undisturbed;
        let found = (self.observe)(world)?;
        let outcome = Outcome {
            is_old: found == *old,
            is_new: found == *new,
        };
        if outcome.is_old || outcome.is_new {
            return Ok(outcome);
        }
        let is_known = |line: &String| old.contains(line) || new.contains(line);
        if self.by_line && found.iter().all(is_known) {
            return Ok(outcome);
        }
        bail!("half done: {found:?} is neither {old:?} nor {new:?}")
    }
}
