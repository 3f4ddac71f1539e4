/// The two kinds of access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// The file's content is read.
    Read,
    /// The file is changed, made or removed, or gets another name. A file that is open for changes can be read, too.
    Change,
}

/// An access of a guest to a path of a share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathAccess {
    /// The number of the share's entry, from 0.
    pub entry: usize,
    /// The names from the entry to the file, with `/` between them; empty for the entry itself.
    pub path: Vec<u8>,
    /// The kind of access.
    pub access: Access,
}

/// A user who decides about accesses while a guest waits for them. No method may wait.
pub trait Asker: Send + Sync {
    /// Asks about an access. The answer comes by [`Answers::answer`](crate::Answers::answer) with the same token.
    /// Returns false if the question cannot be passed on: the access is denied then.
    fn ask(&self, token: u64, question: &PathAccess) -> bool;

    /// Takes a question back: the guest does not wait for its answer.
    fn withdraw(&self, token: u64);

    /// Notes an access that a permission has refused without a question.
    fn refused(&self, refused: &PathAccess);
}
