//! The changed lines of a text, which can be chosen one by one.

use std::ops::Range;

use imara_diff::sources::byte_lines;
use imara_diff::{Hunk, InternedInput};

use super::lines::Lines;
use super::unified::{Effort, groups, hunks, push_group};

/// The change of a text from its old to its new lines, as the least edits that it consists of.
///
/// An edit replaces a range of old lines, which may be empty, by new ones; an unchanged line is between any two
/// edits. A choice has a value for each edit: true if it is made.
///
/// ```
/// use tree_diff::TextChange;
///
/// let change = TextChange::new(b"a\nb\nc\n".to_vec(), b"A\nb\nC\n".to_vec());
/// assert_eq!(change.hunks(), [0..2]);
/// assert_eq!(change.apply(&[false, true]), b"a\nb\nC\n");
/// assert_eq!(change.merge(b"a\nb\nc\nd\n", &[true, false]), Ok(b"A\nb\nc\nd\n".to_vec()));
/// assert_eq!(change.merge(b"host\nb\nc\n", &[true, true]).unwrap_err().edit, 0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextChange {
    old: Vec<u8>,
    new: Vec<u8>,
    edits: Vec<Edit>,
}

/// An edit of a [`TextChange`] that replaces lines which a third text changed in another way, or touches them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the lines of edit {edit} were changed otherwise")]
pub struct Overlap {
    /// Index of the first such edit.
    pub edit: usize,
}

/// Lines of one text that replace lines of another, both as ranges from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    before: Range<u32>,
    after: Range<u32>,
}

impl TextChange {
    /// Compares two texts. If they differ in too many lines to be aligned in reasonable time, the only edit
    /// replaces all lines between the first and the last difference.
    #[must_use]
    pub fn new(old: Vec<u8>, new: Vec<u8>) -> Self {
        Self::with_effort(old, new, &mut Effort::default())
    }

    pub(super) fn with_effort(old: Vec<u8>, new: Vec<u8>, effort: &mut Effort) -> Self {
        let edits = edits(&old, &new, effort);
        Self { old, new, edits }
    }

    /// Returns the number of edits.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.edits.len()
    }

    /// Returns true if the texts are equal.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Returns the hunks of `git diff`: ranges of edits that are so near to each other that they share their
    /// context.
    #[must_use]
    pub fn hunks(&self) -> Vec<Range<usize>> {
        let all: Vec<Hunk> = self.edits.iter().map(Edit::hunk).collect();
        let mut first = 0;
        let ranges = groups(&all).map(|group| {
            let range = first..first + group.len();
            first = range.end;
            range
        });
        ranges.collect()
    }

    /// Returns the chosen edits as hunks of `git diff`, each with its line `@@`. Old lines of other edits are
    /// context.
    #[must_use]
    pub fn patch(&self, is_chosen: &[bool]) -> Vec<u8> {
        let input = InternedInput::new(byte_lines(&self.old[..]), byte_lines(&self.new[..]));
        let chosen: Vec<Hunk> = self.chosen(is_chosen).map(Edit::hunk).collect();
        let mut text = Vec::new();
        // The new file of the patch lacks the lines of the edits that were not chosen.
        let mut shift_lines = 0;
        for group in groups(&chosen) {
            push_group(&input, group, Some(shift_lines), &mut text);
            let added = |edit: &Hunk| line_count(&edit.after) - line_count(&edit.before);
            shift_lines += group.iter().map(added).sum::<i64>();
        }
        text
    }

    /// Returns the old text with the chosen edits.
    #[must_use]
    pub fn apply(&self, is_chosen: &[bool]) -> Vec<u8> {
        let new = Lines::new(&self.new);
        let chosen = self.chosen(is_chosen);
        replaced(&self.old, chosen.map(|edit| Made::new(edit, &new)))
    }

    /// Returns another text that came of the old one with the chosen edits, which leaves its other lines as
    /// they are. Edits that it has already count as made.
    ///
    /// # Errors
    /// If it changed lines that one of the chosen edits replaces or touches.
    pub fn merge(&self, other: &[u8], is_chosen: &[bool]) -> Result<Vec<u8>, Overlap> {
        let new = Lines::new(&self.new);
        let (mut all, is_chosen) = (Made::of(&self.old, other), is_chosen.iter());
        let theirs = all.len();
        for (index, (edit, &is_chosen)) in self.edits.iter().zip(is_chosen).enumerate() {
            if !is_chosen {
                continue;
            }
            let made = Made::new(edit, &new);
            match made.beside(&all[..theirs]) {
                Beside::Nothing => all.push(made),
                Beside::Itself => {}
                Beside::Another => return Err(Overlap { edit: index }),
            }
        }
        all.sort_by_key(|made| (made.before.start, made.before.end));
        Ok(replaced(&self.old, all))
    }

    /// Returns for each edit if it overlaps with the changes that another text made of the old one, so that it
    /// cannot be merged with them.
    #[must_use]
    pub fn overlaps(&self, other: &[u8]) -> Vec<bool> {
        let new = Lines::new(&self.new);
        let theirs = Made::of(&self.old, other);
        let edits = self.edits.iter().map(|edit| Made::new(edit, &new));
        edits
            .map(|made| made.beside(&theirs) == Beside::Another)
            .collect()
    }

    fn chosen<'a>(&'a self, is_chosen: &'a [bool]) -> impl Iterator<Item = &'a Edit> {
        let edits = self.edits.iter().zip(is_chosen);
        edits.filter_map(|(edit, &chosen)| chosen.then_some(edit))
    }
}

impl Edit {
    fn hunk(&self) -> Hunk {
        Hunk {
            before: self.before.clone(),
            after: self.after.clone(),
        }
    }
}

fn line_count(lines: &Range<u32>) -> i64 {
    i64::from(lines.end) - i64::from(lines.start)
}

/// Returns the edits that make one text of another.
fn edits(old: &[u8], new: &[u8], effort: &mut Effort) -> Vec<Edit> {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let hunks = hunks(&input, effort).into_iter();
    let edit = |hunk: Hunk| Edit {
        before: hunk.before,
        after: hunk.after,
    };
    hunks.map(edit).collect()
}

/// An edit with the bytes of its new lines.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Made<'a> {
    before: Range<u32>,
    lines: &'a [u8],
}

/// The relation of an edit to those of another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// None of them replaces its lines or touches them.
    Nothing,
    /// One of them is the same.
    Itself,
    /// One of them replaces its lines, or touches them.
    Another,
}

impl<'a> Made<'a> {
    fn new(edit: &Edit, new: &Lines<'a>) -> Self {
        Self {
            before: edit.before.clone(),
            lines: new.bytes(&edit.after),
        }
    }

    /// Returns the edits that make one text of another, in ascending order.
    fn of(old: &[u8], new: &'a [u8]) -> Vec<Self> {
        let lines = Lines::new(new);
        let edits = edits(old, new, &mut Effort::default()).into_iter();
        edits.map(|edit| Self::new(&edit, &lines)).collect()
    }

    /// Compares the edit with those of another text, which are in ascending order.
    fn beside(&self, theirs: &[Self]) -> Beside {
        let from = theirs.partition_point(|one| one.before.end < self.before.start);
        match theirs
            .get(from)
            .filter(|one| one.before.start <= self.before.end)
        {
            None => Beside::Nothing,
            Some(one) if one == self => Beside::Itself,
            Some(_) => Beside::Another,
        }
    }
}

/// Returns a text with some of its lines replaced. The edits are in ascending order and do not overlap.
fn replaced<'a>(old: &[u8], edits: impl IntoIterator<Item = Made<'a>>) -> Vec<u8> {
    let lines = Lines::new(old);
    let mut text = Vec::with_capacity(old.len());
    let mut next = 0;
    for made in edits {
        text.extend_from_slice(lines.bytes(&(next..made.before.start)));
        text.extend_from_slice(made.lines);
        next = made.before.end;
    }
    text.extend_from_slice(lines.bytes(&(next..lines.count())));
    text
}
