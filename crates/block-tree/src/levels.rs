use blake3::hazmat::{Mode, merge_subtrees_non_root, merge_subtrees_root};

use crate::value::{GROUP_BLOCKS, Value};

/// A subtree whose leaves come in order, each as long as the others but the last.
///
/// A left subtree has a power of two of leaves (BLAKE3 specification, 2.1), so the leaves so far are one finished
/// subtree for each bit of their number.
#[derive(Debug, Default)]
pub(crate) struct Subtree {
    /// Values of the finished subtrees, the largest first. The last leaf is not merged before the next comes, because
    /// the last merge of a file differs from all others.
    finished: Vec<Value>,
    leaves: u64,
}

impl Subtree {
    pub(crate) fn push(&mut self, leaf: Value) {
        for _ in 0..self.leaves.trailing_zeros() {
            self.merge();
        }
        self.finished.push(leaf);
        self.leaves += 1;
    }

    /// Returns the value of the subtree, which is the whole file if `is_whole` is true; `None` if it has no leaves. The
    /// subtree is empty afterwards.
    pub(crate) fn finish(&mut self, is_whole: bool) -> Option<Value> {
        self.leaves = 0;
        while self.finished.len() > 2 {
            self.merge();
        }
        let right = self.finished.pop()?;
        Some(match self.finished.pop() {
            None => right,
            Some(left) if is_whole => merge_subtrees_root(&left, &right, Mode::Hash).into(),
            Some(left) => merge_subtrees_non_root(&left, &right, Mode::Hash),
        })
    }

    /// Merges the two smallest subtrees, if there are any.
    fn merge(&mut self) {
        if let (Some(right), Some(left)) = (self.finished.pop(), self.finished.pop()) {
            let merged = merge_subtrees_non_root(&left, &right, Mode::Hash);
            self.finished.push(merged);
        }
    }
}

/// The upper levels of a file's tree, made of the values of the file's blocks in their order.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    group: Subtree,
    file: Subtree,
}

impl Levels {
    /// Adds a block. Returns the value of the group before the block if it is complete and was not returned yet.
    pub(crate) fn push(&mut self, block: Value) -> Option<Value> {
        let is_complete = self.group.leaves == GROUP_BLOCKS;
        let complete = is_complete.then(|| self.group.finish(false)).flatten();
        if let Some(group) = complete {
            self.file.push(group);
        }
        self.group.push(block);
        complete
    }

    /// Returns the value of the last group, and the checksum of the file; `None` if there was no block.
    pub(crate) fn finish(mut self) -> Option<(Value, Value)> {
        let is_whole = self.file.leaves == 0;
        let last = self.group.finish(is_whole)?;
        self.file.push(last);
        let checksum = self.file.finish(true)?;
        Some((last, checksum))
    }
}
