use crate::Change;

/// Two sides, and the changes that make the second of the first.
#[derive(Debug)]
pub struct Compared<S> {
    /// The side before the changes.
    pub old: S,
    /// The side after them.
    pub new: S,
    /// The changes, as [`compare`](crate::compare) returns them, or a part of them.
    pub changes: Vec<Change>,
}
