/// Maximum number of paths in each list of [`Notices`].
const PATHS_MAX: usize = 100;
/// Size of an image from which its largest directories are named, in bytes.
pub(crate) const LARGE_BYTES: u64 = 1 << 30;

/// The notices about staged directories, for the user who stages them. Paths are relative to their directory; each list has at
/// most 100 of them, and [`Notices::more`] counts the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notices {
    /// Paths that a default rule hides.
    pub hidden: Vec<Vec<u8>>,
    /// Sockets and devices, which are left out.
    pub special: Vec<Vec<u8>>,
    /// Repositories of git whose files are elsewhere: `.git` is a file that names a path, as in worktrees and
    /// submodules.
    pub elsewhere: Vec<Vec<u8>>,
    /// Other names of files that a rule hides or denies, which are left out.
    pub linked: Vec<Vec<u8>>,
    /// Given rules that hide, deny or ask, and match no file of any directory, as `PATH=STATE`.
    pub unmatched: Vec<String>,
    /// Number of paths and rules that are in none of the lists because these are full.
    pub more: u64,
    /// The largest directories, with the bytes of their files, if all files take 1 GiB or more.
    pub largest: Vec<(Vec<u8>, u64)>,
}

impl Notices {
    /// Adds a path or a rule to one of the lists.
    pub(crate) fn add<T: ToOwned + ?Sized>(
        &mut self,
        list: impl FnOnce(&mut Self) -> &mut Vec<T::Owned>,
        path: &T,
    ) {
        let paths = list(self);
        if paths.len() < PATHS_MAX {
            paths.push(path.to_owned());
        } else {
            self.more += 1;
        }
    }
}
