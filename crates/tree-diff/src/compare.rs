use std::cmp::Ordering;
use std::collections::btree_map;
use std::iter::Peekable;

use fstree::{InodeId, Name, Tree};

use crate::budget::Budget;
use crate::error::CompareError;
use crate::links::HardLinks;
use crate::scope::Node;
use crate::{Change, ChangeKind, Differences, Relation, Scope, Side, inode, moves};

/// Returns the names that stand for different files in two trees, parents before children, names in
/// bytewise order.
///
/// Files are compared by meaning: inode numbers, the order of directories, and how content is
/// stored make no difference. Time and memory grow with the names of both trees and with the bytes
/// of files that have the same size and of which `relation` does not know that they are equal.
///
/// # Errors
/// If content cannot be read, or the changes are too many.
pub fn compare<O, N>(
    old: &O,
    new: &N,
    relation: &impl Relation<O::Content, N::Content>,
    scope: &Scope,
) -> Result<Vec<Change>, CompareError<O::Error>>
where
    O: Side,
    N: Side<Error = O::Error>,
{
    let mut comparison = Comparison {
        old,
        new,
        relation,
        changes: Vec::new(),
        links: HardLinks::new(old.tree(), new.tree()),
        path: Vec::new(),
        budget: Budget::new(),
    };
    let roots = (old.tree().root(), new.tree().root());
    if scope.root().is_whole() {
        comparison.change(roots.0, roots.1)?;
    }
    comparison.walk(scope.root())?;
    let Comparison {
        mut changes,
        links,
        mut budget,
        ..
    } = comparison;
    links.finish(&mut changes);
    moves::find(
        (old.tree(), new.tree()),
        relation,
        &mut changes,
        &mut budget,
    )?;
    Ok(changes)
}

struct Comparison<'a, O, N, R> {
    old: &'a O,
    new: &'a N,
    relation: &'a R,
    changes: Vec<Change>,
    links: HardLinks,
    /// The path of the current name.
    path: Vec<u8>,
    budget: Budget,
}

type Names<'a> = Peekable<btree_map::Iter<'a, Name, InodeId>>;

/// The names of a directory in both trees that are not compared yet.
struct OpenDirectory<'a> {
    old: Option<Names<'a>>,
    new: Option<Names<'a>>,
    scope: &'a Node,
    /// Length of the directory's path, in bytes; 0 for the root.
    path_bytes: usize,
    /// True if the old directory is deleted or replaced by another kind of file.
    is_deleted: bool,
}

/// The inodes of one name.
type Pair = (Option<InodeId>, Option<InodeId>);

impl<'a> OpenDirectory<'a> {
    /// Returns the next name of the two directories.
    fn next(&mut self) -> Option<(&'a Name, Pair)> {
        let one = self.old.as_mut().and_then(|names| names.peek().copied());
        let other = self.new.as_mut().and_then(|names| names.peek().copied());
        let order = match (one, other) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((one, _)), Some((other, _))) => one.cmp(other),
        };
        let old = (self.old.as_mut())
            .filter(|_| order.is_le())
            .and_then(Iterator::next);
        let new = (self.new.as_mut())
            .filter(|_| order.is_ge())
            .and_then(Iterator::next);
        let (name, _) = old.or(new)?;
        Some((name, (old.map(|(_, &id)| id), new.map(|(_, &id)| id))))
    }
}

impl<'a, O, N, R> Comparison<'a, O, N, R>
where
    O: Side,
    N: Side<Error = O::Error>,
    R: Relation<O::Content, N::Content>,
{
    fn walk(&mut self, scope: &'a Node) -> Result<(), CompareError<O::Error>> {
        let roots = (Some(self.old.tree().root()), Some(self.new.tree().root()));
        let mut open = vec![self.open(roots, scope, false)];
        while let Some(directory) = open.last_mut() {
            let Some((name, pair)) = directory.next() else {
                open.pop();
                continue;
            };
            let Some(scope) = directory.scope.at(name.as_bytes()) else {
                continue;
            };
            self.path.truncate(directory.path_bytes);
            self.path.push(b'/');
            self.path.extend_from_slice(name.as_bytes());
            let pair = (
                pair.0.filter(|&id| !self.old.is_hidden(id)),
                pair.1.filter(|&id| !self.new.is_hidden(id)),
            );
            let is_deleted = directory.is_deleted;
            if scope.is_whole() {
                self.visit(pair, is_deleted)?;
            }
            let inner = self.open(pair, scope, is_deleted);
            if inner.old.is_some() || inner.new.is_some() {
                open.push(inner);
            }
        }
        Ok(())
    }

    /// Opens the directories that a name stands for.
    fn open(&self, (old, new): Pair, scope: &'a Node, is_deleted: bool) -> OpenDirectory<'a> {
        let (old, new) = (names(self.old.tree(), old), names(self.new.tree(), new));
        OpenDirectory {
            is_deleted: is_deleted || (old.is_some() && new.is_none()),
            old,
            new,
            scope,
            path_bytes: self.path.len(),
        }
    }

    /// Records a difference of the current name.
    fn visit(&mut self, pair: Pair, is_implied: bool) -> Result<(), CompareError<O::Error>> {
        match pair {
            (Some(old), Some(new)) => self.change(old, new),
            (Some(old), None) => self.record(ChangeKind::Deleted, Some(old), None, is_implied),
            (None, Some(new)) => {
                self.note_name(new, false)?;
                self.record(ChangeKind::Added, None, Some(new), false)
            }
            (None, None) => Ok(()),
        }
    }

    /// Records the difference of two files with the same name, if there is one.
    fn change(&mut self, old: InodeId, new: InodeId) -> Result<(), CompareError<O::Error>> {
        let found = inode::differences((self.old, old), (self.new, new), self.relation);
        let mut found = found.map_err(|source| CompareError::Read {
            path: self.path.clone(),
            source,
        })?;
        found.set(Differences::LINKS, self.links.is_regrouped(old, new));
        self.note_name(new, !found.contains(Differences::LINKS))?;
        if found.is_empty() {
            return Ok(());
        }
        self.record(ChangeKind::Changed(found), Some(old), Some(new), false)
    }

    /// Remembers the current name if the new file has several.
    fn note_name(&mut self, new: InodeId, was_there: bool) -> Result<(), CompareError<O::Error>> {
        if self.links.note_name(new, was_there, &self.path) {
            self.budget.take(self.path.len())?;
        }
        Ok(())
    }

    fn record(
        &mut self,
        kind: ChangeKind,
        old: Option<InodeId>,
        new: Option<InodeId>,
        is_implied: bool,
    ) -> Result<(), CompareError<O::Error>> {
        self.budget.take(size_of::<Change>() + self.path.len())?;
        let path = match &self.path[..] {
            b"" => b"/".to_vec(),
            path => path.to_vec(),
        };
        self.changes.push(Change {
            path,
            kind,
            old,
            new,
            hard_link: None,
            renamed_from: None,
            is_implied,
        });
        Ok(())
    }
}

fn names<D>(tree: &Tree<D>, id: Option<InodeId>) -> Option<Names<'_>> {
    Some(tree.directory(id?)?.iter().peekable())
}
