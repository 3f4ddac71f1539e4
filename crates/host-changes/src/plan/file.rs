//! The steps that make and change files other than directories.

use std::sync::Arc;

use fstree::FileKind;
use tree_diff::TEXT_MAX_BYTES;

use super::{Above, NewFile, Planner, in_the_way};
use crate::comparison::Wanted;
use crate::host_directory::Found;
use crate::host_file::{HostFile, HostState};
use crate::path::relative;
use crate::step::{HostAction, Step};
use crate::{ApplyError, ConflictReason, HostSource};

impl<S: HostSource> Planner<'_, S> {
    /// Plans a new or a changed file, where the host has `host`.
    pub(super) fn make_file(&mut self, new: &NewFile<'_>, host: Found) -> Result<(), ApplyError> {
        let (path, change) = (new.path, new.change);
        let host = match host {
            Found::Missing => {
                self.write(new, HostAction::Add, None, true);
                return Ok(());
            }
            Found::Blocked(blocker) => {
                self.conflict(path, ConflictReason::NoDirectory { path: blocker });
                return Ok(());
            }
            Found::Present(host) => host,
        };
        if host.is_directory() {
            let was_directory = |old| self.old.tree().directory(old).is_some();
            if change.old.is_some_and(was_directory) {
                return self.replace_directory(new, &host);
            }
            self.conflict(path, in_the_way(change));
            return Ok(());
        }
        self.change_file(new, &host)
    }

    /// Plans the change of a file of the host, which is not a directory.
    fn change_file(&mut self, new: &NewFile<'_>, host: &HostFile) -> Result<(), ApplyError> {
        let (path, change) = (new.path, new.change);
        let has_new_content = self.comparison.has_content(path, self.new, new.id, host)?;
        let is_old = match change.old {
            Some(old) if !has_new_content => {
                self.comparison.has_content(path, self.old, old, host)?
            }
            _ => false,
        };
        let is_merge = !has_new_content && !is_old;
        if is_merge && !self.can_merge(new, host)? {
            self.conflict(path, in_the_way(change));
            return Ok(());
        }
        let state = Some(host.state());
        match (has_new_content, self.attributes(new, host, has_new_content)) {
            (_, Some(Wanted::Conflict)) => self.conflict(path, in_the_way(change)),
            (true, None | Some(Wanted::Host)) => {}
            // Its other names would get the attributes too, also those that the sandbox gave a file of
            // their own.
            (true, Some(Wanted::New)) if host.stat.st_nlink > 1 => {
                self.write(new, HostAction::Change, state, true);
                if let Some(step) = self.plan.steps.last_mut() {
                    step.keeps_content = true;
                }
            }
            (true, Some(Wanted::New)) => {
                self.step(new, HostAction::ChangeAttributes, state, true);
            }
            (false, wanted) => {
                // What the sandbox did not change stays as the host has it.
                let has_new_attributes = wanted == Some(Wanted::New);
                self.write(new, HostAction::Change, state, has_new_attributes);
                if let Some(step) = self.plan.steps.last_mut() {
                    step.is_merge = is_merge;
                }
            }
        }
        Ok(())
    }

    /// Returns true if a change can be merged into a file of the host that was changed otherwise: all three
    /// files are text.
    fn can_merge(&self, new: &NewFile<'_>, host: &HostFile) -> Result<bool, ApplyError> {
        let (path, change) = (new.path, new.change);
        let (true, Some(old), Some(new)) = (self.merges, change.old, change.new) else {
            return Ok(false);
        };
        let (old, new) = (self.old.tree().inode(old), self.new.tree().inode(new));
        let is_short = |side: &S, kind: &FileKind<S::Content>| matches!(kind, FileKind::Regular(content) if side.size_bytes(content) <= TEXT_MAX_BYTES);
        if !is_short(self.old, &old.kind) || !is_short(self.new, &new.kind) {
            return Ok(false);
        }
        Ok(self.directory.text(path, host)?.is_some())
    }

    /// Returns whose attributes a file gets; `None` if the sandbox did not change them.
    fn attributes(
        &self,
        new: &NewFile<'_>,
        host: &HostFile,
        has_new_content: bool,
    ) -> Option<Wanted> {
        let is_symlink = matches!(self.new.tree().inode(new.id).kind, FileKind::Symlink(_));
        // A symlink has no permissions of its own.
        if is_symlink && !self.comparison.keep_owner {
            return Some(if has_new_content {
                Wanted::Host
            } else {
                Wanted::New
            });
        }
        match new.change.old {
            Some(old) => self.comparison.attributes(old, new.id, host),
            None if self.comparison.has_attributes(self.new, new.id, host) => Some(Wanted::Host),
            None => Some(Wanted::Conflict),
        }
    }

    fn replace_directory(&mut self, new: &NewFile<'_>, host: &HostFile) -> Result<(), ApplyError> {
        let path = new.path;
        let Some(old) = new.change.old else {
            return Ok(());
        };
        if let Some(name) = self.comparison.other_name(path, old, host)? {
            self.conflict(path, ConflictReason::OtherFiles { name });
            return Ok(());
        }
        self.above = Some((path.to_vec(), Above::NewFile));
        self.plan.steps.push(Step {
            path: path.to_vec(),
            action: HostAction::Remove,
            old: Some(old),
            new: None,
            text: None,
            is_merge: false,
            keeps_content: false,
            host: None,
            hard_link: None,
            has_new_attributes: false,
            is_implied: true,
            makes_room: true,
        });
        self.write(new, HostAction::Change, None, true);
        Ok(())
    }

    fn write(
        &mut self,
        new: &NewFile<'_>,
        action: HostAction,
        host: Option<HostState>,
        has_new_attributes: bool,
    ) {
        // Another name of a file takes no room.
        let is_inside = |link: &Arc<[u8]>| relative(link, self.from).is_some();
        let link = new.change.hard_link.clone().filter(is_inside);
        if let FileKind::Regular(content) = &self.new.tree().inode(new.id).kind
            && link.is_none()
        {
            let segments = self.new.segments(content).into_iter();
            let bytes = segments.map(|segment| segment.length_bytes);
            let needed = bytes.fold(self.plan.needed_bytes, u64::saturating_add);
            self.plan.needed_bytes = needed;
        }
        self.step(new, action, host, has_new_attributes);
        if let Some(step) = self.plan.steps.last_mut() {
            step.hard_link = link;
        }
    }
}
