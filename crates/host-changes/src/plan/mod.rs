mod file;
mod folding;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use fstree::{FileKind, InodeId};
use path_rules::repository;
use tree_diff::{Change, ChangeKind, Differences, leave_out};

use super::comparison::{Comparison, Wanted};
use super::finding::Finding;
use super::gate::{Gate, Refused};
use super::host_directory::{Found, HostDirectory, split};
use super::host_file::HostState;
use super::marked::{Marked, marked};
use super::path::{is_below, relative, trimmed};
use super::step::{HostAction, Step};
use super::unfinished_name::is_unfinished;
use super::{ApplyError, ApplyOptions, Conflict, ConflictReason, HostSource};

/// The steps that put changes into a directory of the host, and what is in their way.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) conflicts: Vec<Conflict>,
    pub(super) sockets: Vec<Vec<u8>>,
    /// The steps that have an effect beyond their files.
    pub(super) marked: Vec<Marked>,
    /// Paths in the sandbox of the repositories of git that are left out.
    pub(super) left_out: Vec<Vec<u8>>,
    /// The changes that a rule keeps out.
    pub(super) refused: Vec<Refused>,
    /// Paths in the sandbox of the changes that the host has when the steps are done: those of the steps, and
    /// those that it has already.
    pub(super) settled: Vec<Vec<u8>>,
    /// Bytes of content that are written.
    pub(super) needed_bytes: u64,
}

struct Planner<'a, S> {
    old: &'a S,
    new: &'a S,
    directory: &'a HostDirectory,
    finding: Finding<'a>,
    comparison: Comparison<'a, S>,
    /// True if changes of texts are merged with those of the host.
    merges: bool,
    /// Path of the sandbox's directory that the host's directory stands for.
    from: &'a [u8],
    plan: Plan,
    /// The path of the last change that replaces a file by another kind of file, or that
    /// conflicts. Of what is below it the host has nothing to compare, or nothing that matters.
    above: Option<(Vec<u8>, Above)>,
    /// The paths of new files whose names are one with another name on the host, which is the value.
    collisions: HashMap<Vec<u8>, Vec<u8>>,
    /// The path of the last removal that is a step of its own. Those below it are a part of it.
    removed: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Above {
    /// A directory takes the place of a file: nothing exists below it yet.
    NewDirectory,
    /// A file takes the place of a directory, whose files are removed first.
    NewFile,
    Conflict,
}

impl Plan {
    pub(super) fn new<S: HostSource>(
        (old, new): (&S, &S),
        changes: &[Change],
        directory: &HostDirectory,
        options: &ApplyOptions,
    ) -> Result<Self, ApplyError> {
        let ignores_case = |path: &[u8]| folding::ignores_case(directory, path);
        Self::with_case((old, new), changes, directory, options, ignores_case)
    }

    /// Returns a plan for a host whose directories ignore case as `ignores_case` says.
    pub(super) fn with_case<S: HostSource>(
        (old, new): (&S, &S),
        changes: &[Change],
        directory: &HostDirectory,
        options: &ApplyOptions,
        ignores_case: impl FnMut(&[u8]) -> Result<bool, ApplyError>,
    ) -> Result<Self, ApplyError> {
        let from = trimmed(&options.from);
        let is_directory = |side: &S| {
            let id = side.tree().find(&from);
            id.is_some_and(|id| side.tree().directory(id).is_some())
        };
        if !is_directory(old) && !is_directory(new) {
            return Err(ApplyError::NoOrigin { path: from });
        }
        let mut planner = Planner {
            old,
            new,
            directory,
            finding: Finding::new(directory),
            comparison: Comparison {
                old,
                new,
                directory,
                keep_owner: options.keep_owner,
            },
            merges: options.merges,
            from: &from,
            plan: Self::default(),
            above: None,
            collisions: HashMap::new(),
            removed: None,
        };
        let (mut changes, left_out) = without_repositories((old, new), changes, &from, options);
        planner.plan.left_out = left_out;
        let rules = options.rules.as_ref();
        let gate = rules.map(|rules| Gate::new(rules, &from, &options.accepted));
        if let Some(gate) = &gate {
            planner.keep_back(gate, changes.to_mut());
        }
        planner.collisions = folding::collisions((old, new), &changes, &from, ignores_case)?;
        for change in &*changes {
            let path = relative(&change.path, &from);
            // The host's directory itself stays as it is.
            if let Some(path) = path.filter(|path| !path.is_empty()) {
                planner.add(path, change)?;
                if is_applied(change, new) {
                    planner.plan.settled.push(change.path.clone());
                }
            }
        }
        let mut plan = planner.plan;
        plan.marked = marked(
            &plan.steps,
            new.tree(),
            &from,
            (&options.accepted, gate.as_ref()),
        );
        Ok(plan)
    }
}

/// Returns the changes without those in repositories of git that the user did not name, and the paths of
/// these repositories below `from`.
fn without_repositories<'c, S: HostSource>(
    (old, new): (&S, &S),
    changes: &'c [Change],
    from: &[u8],
    options: &ApplyOptions,
) -> (Cow<'c, [Change]>, Vec<Vec<u8>>) {
    let is_directory = |side: &S, id| side.tree().directory(id).is_some();
    let is_new_directory = |change: &Change| change.new.is_some_and(|id| is_directory(new, id));
    let is_left_out = |change: &Change| {
        let is_directory = match (change.new, change.old) {
            (Some(id), _) => is_directory(new, id),
            (None, Some(id)) => is_directory(old, id),
            (None, None) => false,
        };
        options.leaves_out(change, is_directory)
    };
    let mut repositories: Vec<Vec<u8>> = Vec::new();
    for change in changes.iter().filter(|change| is_left_out(change)) {
        let repository =
            repository(&change.path).filter(|_| relative(&change.path, from).is_some());
        if let Some(repository) = repository
            && repositories.last().is_none_or(|last| last != repository)
        {
            repositories.push(repository.to_vec());
        }
    }
    if !changes.iter().any(is_left_out) {
        return (Cow::Borrowed(changes), repositories);
    }
    let mut kept = changes.to_vec();
    leave_out(&mut kept, is_left_out, is_new_directory);
    (Cow::Owned(kept), repositories)
}

/// A change that leaves a file in the sandbox.
struct NewFile<'c> {
    /// Path relative to the directory.
    path: &'c [u8],
    change: &'c Change,
    id: InodeId,
}

impl<S: HostSource> Planner<'_, S> {
    /// Takes the changes out that a rule keeps back. Nothing is put below a file of another type that is kept
    /// back: its directory is not made.
    fn keep_back(&mut self, gate: &Gate<'_>, changes: &mut Vec<Change>) {
        let mut kept_back: HashSet<Vec<u8>> = HashSet::new();
        let mut blocked: Option<&[u8]> = None;
        let mut is_last_added = false;
        for change in changes.iter() {
            if blocked.is_some_and(|above| is_below(&change.path, above)) {
                kept_back.insert(change.path.clone());
                continue;
            }
            let Some(refused) = gate.refused(change) else {
                continue;
            };
            kept_back.insert(change.path.clone());
            let is_other_type = matches!(
                change.kind,
                ChangeKind::Changed(found) if found.contains(Differences::TYPE)
            );
            blocked = is_other_type.then_some(&change.path[..]).or(blocked);
            let last = self.plan.refused.last();
            let is_part = last.is_some_and(|last| is_below(&refused.path, &last.path));
            // Of what goes or comes with its directory only that is listed.
            if !(is_part && (change.is_implied || is_last_added)) {
                is_last_added = change.kind == ChangeKind::Added;
                self.plan.refused.push(refused);
            }
        }
        let new = self.new;
        leave_out(
            changes,
            |change| kept_back.contains(&change.path),
            |change| {
                change
                    .new
                    .is_some_and(|id| new.tree().directory(id).is_some())
            },
        );
    }

    fn add(&mut self, path: &[u8], change: &Change) -> Result<(), ApplyError> {
        let above = self.above(path);
        if above == Some(Above::Conflict) {
            return Ok(());
        }
        if is_unfinished(split(path).1) {
            self.conflict(path, ConflictReason::ReservedName);
            return Ok(());
        }
        if let Some(other) = self.collisions.remove(path) {
            self.conflict(path, ConflictReason::SameName { other });
            return Ok(());
        }
        match change.new {
            None => self.remove(path, change, above == Some(Above::NewFile)),
            Some(id) => {
                let host = match above {
                    Some(Above::NewDirectory) => Found::Missing,
                    _ => self.finding.find(path)?,
                };
                match &self.new.tree().inode(id).kind {
                    FileKind::Socket => {
                        self.plan.sockets.push(path.to_vec());
                        // The file that the socket replaced is gone all the same.
                        self.remove(path, change, above == Some(Above::NewFile))
                    }
                    FileKind::CharDevice(_) | FileKind::BlockDevice(_) => {
                        self.conflict(path, ConflictReason::Device);
                        Ok(())
                    }
                    kind => {
                        let new = NewFile { path, change, id };
                        if kind.as_directory().is_some() {
                            self.make_directory(&new, host)
                        } else {
                            self.make_file(&new, host)
                        }
                    }
                }
            }
        }
    }

    fn remove(&mut self, path: &[u8], change: &Change, makes_room: bool) -> Result<(), ApplyError> {
        let is_socket = |id| matches!(self.old.tree().inode(id).kind, FileKind::Socket);
        let Some(old) = change.old.filter(|&old| !is_socket(old)) else {
            return Ok(());
        };
        let host = match self.finding.find(path)? {
            Found::Missing => return Ok(()),
            // The directory was removed or replaced, and the host has that change already.
            Found::Blocked(_) if change.is_implied => return Ok(()),
            Found::Blocked(blocker) => {
                self.conflict(path, ConflictReason::NoDirectory { path: blocker });
                return Ok(());
            }
            Found::Present(host) => host,
        };
        if self.old.tree().directory(old).is_some() && host.is_directory() {
            if let Some(name) = self.comparison.other_name(path, old, &host)? {
                self.conflict(path, ConflictReason::OtherFiles { name });
                return Ok(());
            }
        } else if !self.comparison.is_old(path, change, &host)? {
            self.conflict(path, ConflictReason::Differs);
            return Ok(());
        }
        // The change of a directory above it may be none of a file of the host, such as that of the
        // directory that the host's directory stands for. Then nothing else tells of this one.
        let removed = self.removed.as_deref();
        let is_implied = makes_room || removed.is_some_and(|removed| is_below(path, removed));
        if !is_implied {
            self.removed = Some(path.to_vec());
        }
        self.plan.steps.push(Step {
            path: path.to_vec(),
            action: HostAction::Remove,
            old: Some(old),
            new: None,
            text: None,
            is_merge: false,
            keeps_content: false,
            host: (!host.is_directory()).then(|| host.state()),
            hard_link: None,
            has_new_attributes: false,
            is_implied,
            makes_room,
        });
        Ok(())
    }

    fn make_directory(&mut self, new: &NewFile<'_>, host: Found) -> Result<(), ApplyError> {
        let (path, change) = (new.path, new.change);
        let (action, state) = match host {
            Found::Missing => (HostAction::Add, None),
            Found::Blocked(blocker) => {
                self.conflict(path, ConflictReason::NoDirectory { path: blocker });
                return Ok(());
            }
            Found::Present(host) if host.is_directory() => {
                let old = change
                    .old
                    .filter(|&old| self.old.tree().directory(old).is_some());
                match old.and_then(|old| self.comparison.attributes(old, new.id, &host)) {
                    None | Some(Wanted::Host) => return Ok(()),
                    Some(Wanted::Conflict) => {
                        self.conflict(path, ConflictReason::Differs);
                        return Ok(());
                    }
                    Some(Wanted::New) => (HostAction::ChangeAttributes, Some(host.state())),
                }
            }
            Found::Present(host) => {
                if !self.comparison.is_old(path, change, &host)? {
                    self.conflict(path, in_the_way(change));
                    return Ok(());
                }
                self.above = Some((path.to_vec(), Above::NewDirectory));
                (HostAction::Change, Some(host.state()))
            }
        };
        self.step(new, action, state, true);
        Ok(())
    }

    fn step(
        &mut self,
        new: &NewFile<'_>,
        action: HostAction,
        host: Option<HostState>,
        has_new_attributes: bool,
    ) {
        self.plan.steps.push(Step {
            path: new.path.to_vec(),
            action,
            old: new.change.old,
            new: Some(new.id),
            text: None,
            is_merge: false,
            keeps_content: false,
            host,
            hard_link: None,
            has_new_attributes,
            is_implied: false,
            makes_room: false,
        });
    }

    fn conflict(&mut self, path: &[u8], reason: ConflictReason) {
        self.above = Some((path.to_vec(), Above::Conflict));
        self.plan.conflicts.push(Conflict {
            path: path.to_vec(),
            reason,
        });
    }

    /// Returns what is known of a path because of a change above it.
    fn above(&self, path: &[u8]) -> Option<Above> {
        let (above, known) = self.above.as_ref()?;
        is_below(path, above).then_some(*known)
    }
}

/// Returns true if a change is one that is put into a directory: not of owners, times and attributes alone, and
/// no socket.
fn is_applied<S: HostSource>(change: &Change, new: &S) -> bool {
    let is_socket = |id| matches!(new.tree().inode(id).kind, FileKind::Socket);
    let beside = Differences::OWNER | Differences::MTIME | Differences::XATTRS | Differences::LINKS;
    match change.kind {
        ChangeKind::Changed(found) if beside.contains(found) => false,
        _ => !change.new.is_some_and(is_socket),
    }
}

const fn in_the_way(change: &Change) -> ConflictReason {
    if change.old.is_some() {
        ConflictReason::Differs
    } else {
        ConflictReason::Exists
    }
}
