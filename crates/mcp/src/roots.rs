//! The directories that a client works on, as it names them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// The most roots that are taken.
const ROOTS_MAX: usize = 8;

/// Returns the directories of roots. Left out are those that do not exist, lie in another one, or contain one of the
/// `kept` paths, such as the home of the user.
pub(crate) fn directories(uris: &[String], kept: &[PathBuf]) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = Vec::new();
    for uri in uris {
        let found = path(uri).and_then(|path| path.canonicalize().ok());
        let Some(directory) = found.filter(|path| path.is_dir()) else {
            continue;
        };
        let contains = |path: &PathBuf| path.starts_with(&directory);
        let overlaps = |other: &PathBuf| contains(other) || directory.starts_with(other);
        let is_whole_host = directory.parent().is_none();
        if !is_whole_host && !kept.iter().any(contains) && !directories.iter().any(overlaps) {
            directories.push(directory);
        }
        if directories.len() == ROOTS_MAX {
            break;
        }
    }
    directories
}

/// Returns the paths that no root may contain: the home of the user, and msb's own.
pub(crate) fn kept(msb_home: &Path) -> Vec<PathBuf> {
    let known = [std::env::home_dir(), Some(msb_home.to_owned())];
    let known = known.into_iter().flatten();
    known
        .map(|path| path.canonicalize().unwrap_or(path))
        .collect()
}

/// Returns the path of a `file` URI of this host.
fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') || path.contains(['?', '#']) {
        return None;
    }
    Some(PathBuf::from(OsString::from_vec(decoded(path)?)))
}

/// Returns the bytes of a path in which `%` and two digits stand for a byte.
fn decoded(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let value = digit()? * 16 + digit()?;
        let byte = u8::try_from(value).ok().filter(|byte| *byte != 0)?;
        bytes.push(byte);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_files_of_this_host_have_a_path() {
        assert_eq!(path("file:///srv/a%20b"), Some(PathBuf::from("/srv/a b")));
        assert_eq!(path("file://localhost/srv"), Some(PathBuf::from("/srv")));
        for uri in [
            "https://example.com/srv",
            "file://other/srv",
            "file:srv",
            "file:///srv?x",
            "file:///srv%",
            "file:///srv%0",
            "file:///srv%zz",
            "file:///srv%00",
            "/srv",
            "",
        ] {
            assert_eq!(path(uri), None, "{uri}");
        }
    }

    #[test]
    fn roots_that_hold_more_than_a_project_are_left_out() {
        let parent = tempfile::tempdir().expect("a directory");
        let parent = parent.path().canonicalize().expect("there");
        let home = parent.join("home");
        for directory in ["home/a/b", "home/c", ".msb"] {
            fs::create_dir_all(parent.join(directory)).expect("made");
        }
        fs::write(home.join("file"), "").expect("written");
        let uri = |path: &Path| format!("file://{}", path.display());
        let names = ["a", "a/b", "c", "missing", "file"];
        let mut uris: Vec<String> = names.iter().map(|name| uri(&home.join(name))).collect();
        uris.extend([uri(&home), uri(&parent), uri(Path::new("/"))]);
        let kept = [home.clone(), parent.join(".msb")];
        let found = directories(&uris, &kept);
        assert_eq!(found, [home.join("a"), home.join("c")]);
        uris.reverse();
        assert_eq!(
            directories(&uris, &kept),
            [home.join("c"), home.join("a/b")]
        );
    }

    #[test]
    fn there_are_few_roots() {
        let parent = tempfile::tempdir().expect("a directory");
        let uris = (0..20).map(|number| {
            let path = parent.path().join(number.to_string());
            fs::create_dir(&path).expect("made");
            format!("file://{}", path.display())
        });
        let uris: Vec<String> = uris.collect();
        assert_eq!(directories(&uris, &[]).len(), ROOTS_MAX);
    }
}
