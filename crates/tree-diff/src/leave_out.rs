use std::collections::HashMap;
use std::sync::Arc;

use crate::{Change, ChangeKind, Differences};

/// Leaves changes out, and adapts those that stay: they can be made without the others.
///
/// - A directory is not deleted or replaced if something below it is left out and would stay there.
/// - A new directory above a change that stays is not left out.
/// - Names of one file that are left are linked to each other.
///
/// The changes are in the order in which [`compare`](crate::compare) returns them. `is_directory` tells
/// of a change whether its new file is a directory.
pub fn leave_out(
    changes: &mut Vec<Change>,
    is_left_out: impl Fn(&Change) -> bool,
    is_directory: impl Fn(&Change) -> bool,
) {
    let mut is_kept: Vec<bool> = changes.iter().map(|change| !is_left_out(change)).collect();
    if !is_kept.contains(&false) {
        return;
    }
    let mut is_occupied = vec![false; changes.len()];
    each_below(changes, |index, above| {
        let change = &changes[index];
        for &above in above {
            if is_kept[index] && change.new.is_some() {
                let is_new = is_new(&changes[above]) && is_directory(&changes[above]);
                is_kept[above] |= is_new;
            } else if !is_kept[index] && change.new.is_none() {
                is_occupied[above] |= removes(&changes[above]);
            }
        }
    });
    for (kept, occupied) in is_kept.iter_mut().zip(is_occupied) {
        *kept &= !occupied;
    }
    link_again(changes, &is_kept);
    imply_again(changes, &is_kept);
    let mut is_kept = is_kept.into_iter();
    changes.retain(|_| is_kept.next().unwrap_or_default());
}

/// Calls `visit` with each change's index and the indexes of the changes above it.
fn each_below(changes: &[Change], mut visit: impl FnMut(usize, &[usize])) {
    let mut above: Vec<usize> = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        while let Some(&last) = above.last() {
            if is_below(&change.path, &changes[last].path) {
                break;
            }
            above.pop();
        }
        visit(index, &above);
        above.push(index);
    }
}

fn is_below(path: &[u8], directory: &[u8]) -> bool {
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with(b"/"))
}

fn changes_type(change: &Change) -> bool {
    matches!(change.kind, ChangeKind::Changed(found) if found.contains(Differences::TYPE))
}

/// Returns true if the change makes a file where there was none of its type.
fn is_new(change: &Change) -> bool {
    change.kind == ChangeKind::Added || changes_type(change)
}

/// Returns true if the change removes the old file.
fn removes(change: &Change) -> bool {
    change.kind == ChangeKind::Deleted || changes_type(change)
}

/// Links the kept names of a file to the first of them if the name that they were linked to is left out.
fn link_again(changes: &mut [Change], is_kept: &[bool]) {
    let left_out = changes.iter().zip(is_kept).filter(|(_, kept)| !**kept);
    let mut first: HashMap<Arc<[u8]>, Option<Arc<[u8]>>> = left_out
        .map(|(change, _)| (Arc::from(change.path.as_slice()), None))
        .collect();
    let kept = changes.iter_mut().zip(is_kept).filter(|(_, kept)| **kept);
    for (change, _) in kept {
        let Some(linked) = change
            .hard_link
            .as_ref()
            .and_then(|path| first.get_mut(path))
        else {
            continue;
        };
        change.hard_link = linked.clone();
        if linked.is_none() {
            *linked = Some(Arc::from(change.path.as_slice()));
        }
    }
}

/// Marks the kept deletions that are not part of the deletion of a directory any more.
fn imply_again(changes: &mut [Change], is_kept: &[bool]) {
    let mut is_implied = vec![false; changes.len()];
    each_below(changes, |index, above| {
        is_implied[index] = changes[index].is_implied
            && above
                .iter()
                .any(|&above| is_kept[above] && removes(&changes[above]));
    });
    for (change, is_implied) in changes.iter_mut().zip(is_implied) {
        change.is_implied = is_implied;
    }
}
