use rustix::fd::BorrowedFd;

/// A file as a directory names it. The name `.` is the directory itself.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The directory.
    pub directory: BorrowedFd<'a>,
    /// One component.
    pub name: &'a [u8],
}
