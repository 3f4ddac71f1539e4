/// Maximum number of paths in each list of [`Notices`].
const PATHS_MAX: usize = 100;
/// Number of paths that a message names.
const NAMED: usize = 5;
/// Bytes of a MiB.
const MIB: u64 = 1 << 20;
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

    /// Returns the notices as clauses, each with its stable code.
    #[must_use]
    pub fn messages(&self) -> Vec<(&'static str, String)> {
        let mut messages = Vec::new();
        if !self.hidden.is_empty() {
            let message = format!(
                "the sandbox does not see {}, which may hold secrets; --rule PATH=allow shows one, and \
                 --no-default-rules shows all",
                named(&self.hidden)
            );
            messages.push(("staged-hidden", message));
        }
        if !self.special.is_empty() {
            let message = format!(
                "the sockets and devices {} are left out of the staged directory",
                named(&self.special)
            );
            messages.push(("staged-left-out", message));
        }
        if !self.linked.is_empty() {
            let message = format!(
                "the files {} are left out of the staged directory: they are hard links of hidden or \
                 denied files",
                named(&self.linked)
            );
            messages.push(("staged-linked", message));
        }
        for rule in &self.unmatched {
            let message = format!("the rule {rule} matches no file");
            messages.push(("staged-unmatched-rule", message));
        }
        if !self.elsewhere.is_empty() {
            let message = format!(
                "the repository of {} is elsewhere (a worktree or submodule), so git does not work there in the \
                 sandbox; stage the directory that holds the repository",
                named(&self.elsewhere)
            );
            messages.push(("staged-repository", message));
        }
        if !self.largest.is_empty() {
            let largest = self.largest.iter();
            let largest: Vec<String> = largest
                .map(|(path, bytes)| format!("{} ({} MiB)", quoted(path), bytes / MIB))
                .collect();
            let message = format!(
                "the staged directory is large: {}; --rule PATH=hide leaves one out",
                largest.join(", ")
            );
            messages.push(("staged-large", message));
        }
        messages
    }
}

/// Returns the first paths of a list, and the number of the others.
fn named(paths: &[Vec<u8>]) -> String {
    let mut names: Vec<String> = paths.iter().take(NAMED).map(|path| quoted(path)).collect();
    if paths.len() > NAMED {
        names.push(format!("{} more", paths.len() - NAMED));
    }
    names.join(", ")
}

fn quoted(path: &[u8]) -> String {
    if path.is_empty() {
        ".".to_owned()
    } else {
        tree_diff::quoted(path, tree_diff::Quoting::Shown)
    }
}
