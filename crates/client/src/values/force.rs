/// Permission to end or remove what is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// The call fails if the thing is in use.
    No,
    /// A thing in use is ended, and then removed.
    Yes,
}
