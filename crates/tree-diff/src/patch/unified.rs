use std::ops::Range;

use imara_diff::sources::byte_lines;
use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

use super::quote::Label;

/// Unchanged lines around a change.
const CONTEXT_LINES: u32 = 3;

/// Most pairs of lines in one file for which the best alignment is sought: 2 s of work, if no line
/// is unique.
const FILE_PAIRS_MAX: u64 = 1_000_000_000;
/// The same for all files of a comparison together.
const ALL_PAIRS_MAX: u64 = 20 * FILE_PAIRS_MAX;

/// The work that may still be done to align lines.
#[derive(Debug)]
pub(super) struct Effort {
    left_pairs: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            left_pairs: ALL_PAIRS_MAX,
        }
    }
}

impl Effort {
    /// Counts the work for two texts. Returns false if it is too much.
    fn take(&mut self, old_lines: u64, new_lines: u64) -> bool {
        let pairs = old_lines.saturating_mul(new_lines);
        let left = self.left_pairs.checked_sub(pairs);
        match left.filter(|_| pairs <= FILE_PAIRS_MAX) {
            Some(left) => self.left_pairs = left,
            None => return false,
        }
        true
    }
}

/// Adds the changed lines of a file, with the two lines that name it. Adds nothing if no line
/// differs. Returns the numbers of inserted and of deleted lines.
pub(super) fn push(
    (old, new): (&[u8], &[u8]),
    labels: &(Label<'_>, Label<'_>),
    effort: &mut Effort,
    text: &mut Vec<u8>,
) -> (u64, u64) {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let hunks = hunks(&input, effort);
    if hunks.is_empty() {
        return (0, 0);
    }
    labels.0.push(b"---", text);
    labels.1.push(b"+++", text);
    for group in groups(&hunks) {
        push_group(&input, group, None, text);
    }
    let count = |lines: fn(&Hunk) -> &Range<u32>| -> u64 {
        hunks.iter().map(|hunk| lines(hunk).len() as u64).sum()
    };
    (count(|hunk| &hunk.after), count(|hunk| &hunk.before))
}

/// Returns the changes that are so near to each other that they share their context, together.
pub(super) fn groups(hunks: &[Hunk]) -> impl Iterator<Item = &[Hunk]> {
    let is_near = |one: &Hunk, next: &Hunk| next.before.start - one.before.end <= 2 * CONTEXT_LINES;
    hunks.chunk_by(is_near)
}

/// Returns the changed ranges of lines.
pub(super) fn hunks(input: &InternedInput<&[u8]>, effort: &mut Effort) -> Vec<Hunk> {
    let (before, after) = (&input.before[..], &input.after[..]);
    let pairs = before.iter().zip(after);
    let head = pairs.take_while(|(one, other)| one == other).count();
    let (one, other) = (&before[head..], &after[head..]);
    let pairs = one.iter().rev().zip(other.iter().rev());
    let tail = pairs.take_while(|(one, other)| one == other).count();
    let changed = (one.len() - tail, other.len() - tail);
    if changed == (0, 0) {
        return Vec::new();
    }
    if effort.take(changed.0 as u64, changed.1 as u64) {
        let mut diff = Diff::compute(Algorithm::Histogram, input);
        diff.postprocess_lines(input);
        return diff.hunks().collect();
    }
    let range = |count: usize| {
        let line = |index: usize| u32::try_from(index).expect("a text has fewer than 2^32 lines");
        line(head)..line(head + count)
    };
    vec![Hunk {
        before: range(changed.0),
        after: range(changed.1),
    }]
}

/// Adds changes that are so near to each other that they share their context. `shift_lines` is the number of
/// lines that the changes before them add, if these are not all changes of the texts.
pub(super) fn push_group(
    input: &InternedInput<&[u8]>,
    hunks: &[Hunk],
    shift_lines: Option<i64>,
    text: &mut Vec<u8>,
) {
    let (Some(first), Some(last)) = (hunks.first(), hunks.last()) else {
        return;
    };
    let line_count = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
    let lead = first.before.start.min(CONTEXT_LINES);
    let trail = (line_count - last.before.end).min(CONTEXT_LINES);
    let before = first.before.start - lead..last.before.end + trail;
    let after = match shift_lines {
        None => first.after.start - lead..last.after.end + trail,
        Some(shift_lines) => {
            let count = |lines: fn(&Hunk) -> &Range<u32>| -> u32 {
                hunks.iter().map(|hunk| lines(hunk).len() as u32).sum()
            };
            let length =
                before.end - before.start + count(|hunk| &hunk.after) - count(|hunk| &hunk.before);
            let start = i64::from(before.start) + shift_lines;
            let start = u32::try_from(start).unwrap_or(0);
            start..start + length
        }
    };
    let header = format!("@@ -{} +{} @@\n", span(&before), span(&after));
    text.extend_from_slice(header.as_bytes());
    let mut next = before.start;
    for hunk in hunks {
        push_lines(input, b' ', false, next..hunk.before.start, text);
        push_lines(input, b'-', false, hunk.before.clone(), text);
        push_lines(input, b'+', true, hunk.after.clone(), text);
        next = hunk.before.end;
    }
    push_lines(input, b' ', false, next..before.end, text);
}

/// Formats a range of lines. An empty one is given by the line before it.
fn span(lines: &Range<u32>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn push_lines(
    input: &InternedInput<&[u8]>,
    sign: u8,
    is_new: bool,
    lines: Range<u32>,
    text: &mut Vec<u8>,
) {
    let tokens = if is_new { &input.after } else { &input.before };
    for index in lines {
        let line = input.interner[tokens[index as usize]];
        text.push(sign);
        text.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            text.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}
