//! The paths of the host that can be mounted.

use std::io;
use std::path::Path;

use fs_err as fs;
use path_rules::{RULES_MAX, Rule, TooManyRules};
use rustix::fs::{Mode, OFlags, open};

use super::{MountError, Source, Target};

/// Returns the source of a mount as it is recorded: with a path without symlinks. `rules` are those of the files of a
/// directory; a file has none.
///
/// # Errors
/// A path that does not exist, is neither a directory nor a file, cannot be read, or is not UTF-8; too many rules.
pub(super) fn recorded(path: &Path, rules: Vec<Rule>) -> Result<Source, MountError> {
    let failed = |source| MountError::Host {
        path: path.to_owned(),
        source,
    };
    let path = fs::canonicalize(path).map_err(failed)?;
    if path.to_str().is_none() {
        return Err(MountError::HostName { path });
    }
    if is_directory(&path)? {
        if rules.len() > RULES_MAX {
            return Err(TooManyRules.into());
        }
        Ok(Source::Bind {
            directory: path,
            rules,
        })
    } else {
        Ok(Source::BindFile { file: path })
    }
}

/// Checks that a recorded path still leads to the same path and kind of file.
pub(super) fn check(path: &Path, was_directory: bool, target: &Target) -> Result<(), MountError> {
    let found = fs::canonicalize(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => MountError::Vanished {
            path: path.to_owned(),
            target: target.clone(),
        },
        _ => MountError::Host {
            path: path.to_owned(),
            source,
        },
    })?;
    if found != path {
        return Err(MountError::Elsewhere {
            path: path.to_owned(),
            found,
            target: target.clone(),
        });
    }
    let is_directory = is_directory(path)?;
    if is_directory == was_directory {
        return Ok(());
    }
    Err(MountError::Changed {
        path: path.to_owned(),
        target: target.clone(),
        found: if is_directory {
            "a directory"
        } else {
            "a file"
        },
    })
}

/// Returns true for a directory, false for a regular file.
/// The path is opened, because the process that serves it has the same permissions as this one.
fn is_directory(path: &Path) -> Result<bool, MountError> {
    let path = || path.to_owned();
    let status = fs::metadata(path()).map_err(|source| MountError::Host {
        path: path(),
        source,
    })?;
    if !status.is_dir() && !status.is_file() {
        return Err(MountError::Special { path: path() });
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match open(path(), flags, Mode::empty()) {
        Ok(_) => Ok(status.is_dir()),
        Err(error) => Err(MountError::Unreadable {
            path: path(),
            source: error.into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    fn target() -> Target {
        "/a".parse().expect("a target")
    }

    /// Returns a temporary directory and its path without symlinks.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().expect("a directory");
        let path = fs::canonicalize(root.path()).expect("there");
        (root, path)
    }

    #[test]
    fn directories_and_files_are_mounted_and_nothing_else() {
        let (root, path) = place();
        let directory = recorded(&root.path().join("."), Vec::new()).expect("there");
        let expected = Source::Bind {
            directory: path.clone(),
            rules: Vec::new(),
        };
        assert_eq!(directory, expected);
        check(&path, true, &target()).expect("there");
        fs::write(path.join("file"), "").expect("written");
        symlink("file", path.join("link")).expect("linked");
        let file = recorded(&path.join("link"), Vec::new()).expect("there");
        let expected = Source::BindFile {
            file: path.join("file"),
        };
        assert_eq!(file, expected);
        check(&path.join("file"), false, &target()).expect("there");
        let mode = rustix::fs::Mode::RUSR;
        mknodat(CWD, path.join("fifo"), FileType::Fifo, mode, 0).expect("made");
        let fifo = recorded(&path.join("fifo"), Vec::new());
        assert!(matches!(fifo, Err(MountError::Special { .. })), "{fifo:?}");
        let missing = recorded(&path.join("missing"), Vec::new());
        assert!(matches!(missing, Err(MountError::Host { .. })));
    }

    #[test]
    fn what_changed_since_is_said() {
        let (root, path) = place();
        let file = path.join("file");
        fs::write(&file, "").expect("written");
        let changed = check(&file, true, &target()).expect_err("a file");
        assert!(changed.to_string().contains("is now a file"), "{changed}");
        let changed = check(&path, false, &target()).expect_err("a directory");
        assert!(changed.to_string().contains("now a directory"), "{changed}");
        drop(root);
        let gone = check(&file, false, &target()).expect_err("gone");
        assert!(matches!(&gone, MountError::Vanished { path, .. } if *path == file));
    }

    #[test]
    fn a_symlink_that_came_later_leads_nowhere() {
        let (_root, root) = place();
        let path = root.join("shared/own");
        fs::create_dir_all(&path).expect("made");
        fs::create_dir_all(root.join("secret/own")).expect("made");
        check(&path, true, &target()).expect("there");
        // Another sandbox with write access to the parent directory can do this.
        fs::rename(root.join("shared"), root.join("moved")).expect("renamed");
        symlink("secret", root.join("shared")).expect("linked");
        let refused = check(&path, true, &target());
        assert!(
            matches!(&refused, Err(MountError::Elsewhere { found, .. }) if found.ends_with("secret/own")),
            "{refused:?}"
        );
    }

    #[test]
    fn what_the_user_may_not_read_is_refused() {
        let (_root, path) = place();
        let secret = path.join("secret");
        fs::create_dir(&secret).expect("made");
        fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).expect("closed");
        let refused = recorded(&secret, Vec::new());
        if rustix::process::geteuid().is_root() {
            // Permissions do not restrict root.
            refused.expect("read");
        } else {
            assert!(matches!(refused, Err(MountError::Unreadable { .. })));
        }
    }
}
