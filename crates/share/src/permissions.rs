use std::io;

/// A part of what a guest may do with a file, from the one that permits most to the one that permits least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// The file can be read and changed, as far as its modes permit.
    #[default]
    All,
    /// The file can be read. A change of it fails with `EROFS`.
    Read,
    /// The file's name and attributes can be seen. Its content cannot be opened: `EACCES`.
    Name,
    /// The file seems not to exist: `ENOENT`, and no directory lists it.
    Nothing,
}

/// The permissions of the paths of a shared directory.
///
/// A path has the names from the directory to the file, with `/` between them; the directory's own is empty.
pub trait Permissions: Send + Sync {
    /// Returns the permission of a path.
    fn of(&self, path: &[u8]) -> Permission;

    /// Returns true if a path below this one may be seen although this one is hidden.
    fn shows_below(&self, path: &[u8]) -> bool;

    /// Returns true if the permission of a path below this one depends on the names of this one. Such a directory
    /// keeps its name: under another one, the files in it would have other permissions.
    fn depends_below(&self, path: &[u8]) -> bool;
}

impl Permission {
    /// Checks that the file can be changed, made or removed.
    pub(crate) fn changes(self) -> io::Result<()> {
        let error = match self {
            Self::All => return Ok(()),
            Self::Read => libc::EROFS,
            Self::Name | Self::Nothing => libc::EACCES,
        };
        Err(io::Error::from_raw_os_error(error))
    }

    /// Checks that the file's content can be read.
    pub(crate) fn reads(self) -> io::Result<()> {
        match self {
            Self::All | Self::Read => Ok(()),
            Self::Name | Self::Nothing => Err(io::Error::from_raw_os_error(libc::EACCES)),
        }
    }
}
