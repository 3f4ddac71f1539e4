use std::sync::Arc;

use rustix::fd::OwnedFd;

use super::ApplyError;
use super::host_directory::{Found, HostDirectory, split};

/// Files of a directory that are looked for one after the other. The directory of the last one stays open: that of the
/// next one is mostly the same.
#[derive(Debug)]
pub(super) struct Finding<'a> {
    directory: &'a HostDirectory,
    last: Option<OpenDirectory>,
}

#[derive(Debug)]
struct OpenDirectory {
    path: Vec<u8>,
    open: Arc<OwnedFd>,
}

impl<'a> Finding<'a> {
    pub(super) const fn new(directory: &'a HostDirectory) -> Self {
        Self {
            directory,
            last: None,
        }
    }

    /// Finds a file, as [`HostDirectory::find`] does.
    pub(super) fn find(&mut self, path: &[u8]) -> Result<Found, ApplyError> {
        let above = split(path).0;
        if let Some(last) = &self.last
            && last.path == above
        {
            return self.directory.find_in(&last.open, path);
        }
        let found = self.directory.find(path)?;
        if let Found::Present(file) = &found {
            self.last = Some(OpenDirectory {
                path: above.to_vec(),
                open: Arc::clone(&file.parent),
            });
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_found_in_the_last_directory_and_in_others() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(root.path().join("a/b")).expect("made");
        for name in ["one", "a/two", "a/three", "a/b/four"] {
            fs::write(root.path().join(name), name).expect("written");
        }
        let directory = HostDirectory::open(root.path()).expect("open");
        let mut finding = Finding::new(&directory);
        for (path, is_there) in [
            ("one", true),
            ("a/two", true),
            ("a/three", true),
            ("a/four", false),
            ("a/b/four", true),
            ("a/c/four", false),
            ("a/two", true),
            ("three", false),
        ] {
            let found = finding.find(path.as_bytes()).expect("looked");
            let is_found = match found {
                Found::Present(file) => {
                    file.stat.st_size == i64::try_from(path.len()).expect("short")
                }
                Found::Missing => false,
                Found::Blocked(_) => panic!("{path}"),
            };
            assert_eq!(is_found, is_there, "{path}");
        }
        let blocked = finding.find(b"one/file").expect("looked");
        assert!(matches!(blocked, Found::Blocked(path) if path == b"one"));
    }
}
