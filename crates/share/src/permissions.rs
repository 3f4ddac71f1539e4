use crate::Access;

/// A part of what a guest may do with a file, from the one that permits most to the one that permits least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// The file can be read and changed, as far as its modes permit.
    #[default]
    All,
    /// The file can be read. Each change of it is asked about.
    AskToChange,
    /// The file can be read. A change of it fails with `EROFS`.
    Read,
    /// The file's name and attributes can be seen. Each open and each change is asked about.
    Ask,
    /// As [`Ask`](Self::Ask), but a change fails with `EROFS`.
    AskToRead,
    /// The file's name and attributes can be seen. Its content cannot be opened: `EACCES`.
    Name,
    /// The file seems not to exist: `ENOENT`, and no directory lists it.
    Nothing,
}

/// The decision about an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Permitted,
    Asked,
    /// Refused, with this error of Linux.
    Refused(i32),
}

/// The permissions of the paths of a shared directory. They may change between two requests.
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
    /// Decides about an access to a file with this permission.
    pub(crate) const fn decide(self, access: Access) -> Decision {
        match (self, access) {
            (Self::All, _) | (Self::AskToChange | Self::Read, Access::Read) => Decision::Permitted,
            (Self::Ask, _)
            | (Self::AskToChange, Access::Change)
            | (Self::AskToRead, Access::Read) => Decision::Asked,
            (Self::Read | Self::AskToRead, Access::Change) => Decision::Refused(libc::EROFS),
            (Self::Name | Self::Nothing, _) => Decision::Refused(libc::EACCES),
        }
    }

    /// Returns the permission of a file that has two names with these permissions.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self.min(other), self.max(other)) {
            (Self::Read, Self::Ask) => Self::AskToRead,
            (_, strictest) => strictest,
        }
    }

    /// Returns the permission of a file that cannot be changed for another reason: nobody is asked about a change.
    pub(crate) const fn without_changes(self) -> Self {
        match self {
            Self::AskToChange => Self::Read,
            Self::Ask => Self::AskToRead,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_two_names_has_what_both_permit() {
        let all = [
            Permission::All,
            Permission::AskToChange,
            Permission::Read,
            Permission::Ask,
            Permission::AskToRead,
            Permission::Name,
            Permission::Nothing,
        ];
        // From the decision that permits most.
        let order = |decision| match decision {
            Decision::Permitted => 0,
            Decision::Asked => 1,
            Decision::Refused(_) => 2,
        };
        for one in all {
            for other in all {
                let both = one.and(other);
                assert_eq!(both, other.and(one));
                for access in [Access::Read, Access::Change] {
                    let expected = order(one.decide(access)).max(order(other.decide(access)));
                    let found = order(both.decide(access));
                    assert_eq!(found, expected, "{one:?} and {other:?}: {access:?}");
                }
            }
        }
    }
}
