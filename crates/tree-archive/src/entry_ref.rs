use rustix::fd::BorrowedFd;

/// A file, by its name in an open directory. The name `.` is the directory itself.
#[derive(Debug, Clone, Copy)]
pub struct EntryRef<'a> {
    /// The open directory that holds the name.
    pub directory: BorrowedFd<'a>,
    /// The name, a single component.
    pub name: &'a [u8],
}
