//! The meaning of paths in `docker cp`.

use super::CopyPathError;

/// A path as the user typed it.
/// A `/` or a `/.` at its end asserts a directory; a `.` at its end means the directory's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyPath(Vec<u8>);

/// The source of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// True if it is a directory.
    pub is_directory: bool,
    /// The name of the copied file; `None` if the content of a directory is meant.
    pub name: Option<Vec<u8>>,
}

/// The destination of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The path, with symlinks at its end followed.
    pub path: CopyPath,
    /// True if the path is a directory, false if another file, `None` if it does not exist.
    pub is_directory: Option<bool>,
}

/// The directory that an archive is unpacked in, and the new name of the archive's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The path of the directory.
    pub directory: Vec<u8>,
    /// The new name; `None` if the archive's root becomes the directory itself.
    pub name: Option<Vec<u8>>,
}

impl CopyPath {
    /// Takes a path as it was typed.
    ///
    /// # Errors
    /// If it is empty.
    pub fn new(path: impl Into<Vec<u8>>) -> Result<Self, CopyPathError> {
        let path = path.into();
        if path.is_empty() {
            Err(CopyPathError::EmptyPath)
        } else {
            Ok(Self(path))
        }
    }

    /// Returns the path as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns true if the path can only mean a directory.
    pub fn asserts_directory(&self) -> bool {
        self.0.ends_with(b"/") || self.0.ends_with(b"/.") || self.0 == b"."
    }

    /// Returns the last component; `None` if the content of a directory is meant.
    pub fn name(&self) -> Option<&[u8]> {
        let name = self.trimmed().rsplit(|&byte| byte == b'/').next();
        name.filter(|name| !matches!(*name, b"" | b"." | b".."))
    }

    /// Returns the directory of the last component, or the path itself if it has no name.
    pub fn parent(&self) -> Vec<u8> {
        let trimmed = self.trimmed();
        let Some(name) = self.name() else {
            return self.0.clone();
        };
        match &trimmed[..trimmed.len() - name.len()] {
            b"" => b".".to_vec(),
            parent => parent.to_vec(),
        }
    }

    /// Returns the path that a symlink at this path with this target leads to.
    pub fn led_to(&self, target: &[u8]) -> Self {
        if target.starts_with(b"/") {
            Self(target.to_vec())
        } else {
            Self([&self.parent()[..], b"/", target].concat())
        }
    }

    /// Returns the path without slashes at its end.
    fn trimmed(&self) -> &[u8] {
        let end = self.0.iter().rposition(|&byte| byte != b'/');
        &self.0[..end.map_or(0, |last| last + 1)]
    }
}

impl Source {
    /// Returns the place where the copy lands.
    ///
    /// # Errors
    /// If docker refuses the copy: a directory onto a file, or a destination whose parent does not exist.
    pub fn landing(&self, destination: &Destination) -> Result<Landing, CopyPathError> {
        let path = &destination.path;
        match (destination.is_directory, self.is_directory) {
            (Some(true), _) => {
                return Ok(Landing {
                    directory: path.as_bytes().to_vec(),
                    name: self.name.clone(),
                });
            }
            (Some(false), true) => {
                return Err(CopyPathError::DirectoryOntoFile {
                    path: path.as_bytes().into(),
                });
            }
            _ => {}
        }
        // A directory can be copied to a new path that asserts a directory; a file cannot.
        let into_nothing =
            destination.is_directory.is_none() && !self.is_directory && path.asserts_directory();
        match path.name() {
            Some(name) if !into_nothing => Ok(Landing {
                directory: path.parent(),
                name: Some(name.to_vec()),
            }),
            _ => Err(CopyPathError::NoDirectory {
                path: path.as_bytes().into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> CopyPath {
        CopyPath::new(text).expect("not empty")
    }

    #[test]
    fn paths_are_split_as_docker_does() {
        // Path, name, parent, true if it asserts a directory.
        let cases = [
            ("/a/b", Some("b"), "/a/", false),
            ("/a/b/", Some("b"), "/a/", true),
            ("/a/b/.", None, "/a/b/.", true),
            ("b", Some("b"), ".", false),
            (".", None, ".", true),
            ("..", None, "..", false),
            ("/", None, "/", true),
            ("a//", Some("a"), ".", true),
        ];
        for (text, name, parent, asserts) in cases {
            let path = path(text);
            assert_eq!(path.name(), name.map(str::as_bytes), "{text}");
            assert_eq!(path.parent(), parent.as_bytes(), "{text}");
            assert_eq!(path.asserts_directory(), asserts, "{text}");
        }
        assert!(CopyPath::new("").is_err());
    }

    /// The table in docker's documentation of `docker cp`.
    #[test]
    fn landings_are_dockers() {
        let file = |name: &str| Source {
            is_directory: false,
            name: Some(name.into()),
        };
        let directory = |name: Option<&str>| Source {
            is_directory: true,
            name: name.map(Into::into),
        };
        let to = |text: &str, is_directory| Destination {
            path: path(text),
            is_directory,
        };
        let lands = |source: Source, destination| {
            source.landing(&destination).ok().map(|landing| {
                let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
                (text(landing.directory), landing.name.map(text))
            })
        };
        let at = |directory: &str, name: Option<&str>| {
            Some((directory.to_owned(), name.map(str::to_owned)))
        };
        // A file: to a new name, into a missing directory, onto a file, into a directory.
        assert_eq!(lands(file("f"), to("/d/n", None)), at("/d/", Some("n")));
        assert_eq!(lands(file("f"), to("/d/n/", None)), None);
        assert_eq!(
            lands(file("f"), to("/d/n", Some(false))),
            at("/d/", Some("n"))
        );
        assert_eq!(lands(file("f"), to("/d", Some(true))), at("/d", Some("f")));
        // A directory: to a new name, onto a file, into a directory.
        let whole = || directory(Some("s"));
        assert_eq!(lands(whole(), to("/d/n", None)), at("/d/", Some("n")));
        assert_eq!(lands(whole(), to("/d/n/", None)), at("/d/", Some("n")));
        assert_eq!(lands(whole(), to("/d/n", Some(false))), None);
        assert_eq!(lands(whole(), to("/d", Some(true))), at("/d", Some("s")));
        // The content of a directory.
        let content = || directory(None);
        assert_eq!(lands(content(), to("/d/n", None)), at("/d/", Some("n")));
        assert_eq!(lands(content(), to("/d", Some(true))), at("/d", None));
        assert_eq!(lands(content(), to("/d/.", None)), None);
    }

    #[test]
    fn links_are_followed_from_where_they_are() {
        assert_eq!(path("/a/l").led_to(b"../x"), path("/a//../x"));
        assert_eq!(path("l").led_to(b"x"), path("./x"));
        assert_eq!(path("/a/l").led_to(b"/x"), path("/x"));
    }
}
