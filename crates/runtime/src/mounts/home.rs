use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fs_err as fs;

use super::{Mount, MountError, Source};
use crate::Home;

/// Checks that no mount shows the home, a path in it, or a directory that contains it.
/// A guest that can write to the home, or only read it, has access to every sandbox. Directories
/// are compared by device and inode, so another name does not circumvent the check; a bind mount of
/// a directory inside the home does.
///
/// # Errors
/// The first mount that shows the home, or a directory that cannot be read.
pub(crate) fn keep_home_out(home: &Home, mounts: &[Mount]) -> Result<(), MountError> {
    let binds = mounts.iter().filter_map(|mount| match &mount.source {
        Source::Bind {
            directory: path, ..
        }
        | Source::BindFile { file: path } => Some(path),
        Source::Staged(staged) => staged.directory.as_ref(),
        _ => None,
    });
    for path in binds {
        let failed = |source| MountError::Host {
            path: path.clone(),
            source,
        };
        let relation = relation(home.root(), path).map_err(failed)?;
        let (path, home) = (path.clone(), home.root().to_owned());
        match relation {
            Relation::Apart => {}
            Relation::Inside => return Err(MountError::InHome { path, home }),
            Relation::Around => return Err(MountError::HoldsHome { path, home }),
        }
    }
    Ok(())
}

/// The relation of a path to the home.
#[derive(Debug, PartialEq, Eq)]
enum Relation {
    /// Neither contains the other.
    Apart,
    /// The path is the home, or lies in it.
    Inside,
    /// The path contains the home.
    Around,
}

fn relation(home: &Path, path: &Path) -> io::Result<Relation> {
    let home = match fs::canonicalize(home) {
        // The home does not exist yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Relation::Apart),
        found => found?,
    };
    let path = fs::canonicalize(path)?;
    if is_within(&path, identity(&home)?)? {
        Ok(Relation::Inside)
    } else if is_within(&home, identity(&path)?)? {
        Ok(Relation::Around)
    } else {
        Ok(Relation::Apart)
    }
}

/// Returns true if the canonical `path` or a directory above it has the identity `directory`.
fn is_within(path: &Path, directory: (u64, u64)) -> io::Result<bool> {
    for above in path.ancestors() {
        if identity(above)? == directory {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the device and inode number of a file.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_home_is_found_by_whatever_name() {
        let root = tempfile::tempdir().expect("a directory");
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("user/.msb/store")).expect("made");
        fs::create_dir_all(at("user/src")).expect("made");
        fs::create_dir_all(at("user/.msb-beside")).expect("made");
        symlink("user", at("link")).expect("linked");
        symlink("user/.msb", at("home-link")).expect("linked");
        let cases = [
            ("user/.msb", Relation::Inside),
            ("user/.msb/store", Relation::Inside),
            ("link/.msb/../.msb/store", Relation::Inside),
            ("home-link", Relation::Inside),
            ("user", Relation::Around),
            ("link", Relation::Around),
            ("user/src", Relation::Apart),
            ("user/.msb-beside", Relation::Apart),
        ];
        for home in ["user/.msb", "home-link", "link/.msb"] {
            for (path, expected) in &cases {
                let found = relation(&at(home), &at(path)).expect("looked");
                assert_eq!(found, *expected, "{path} and {home}");
            }
        }
        let found = relation(&at("user/.msb"), Path::new("/")).expect("looked");
        assert_eq!(found, Relation::Around);
        let found = relation(&at("not-there"), &at("user")).expect("looked");
        assert_eq!(found, Relation::Apart);
    }

    #[test]
    fn a_refusal_names_both_and_the_remedy() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path().join("home"));
        fs::create_dir(home.root()).expect("made");
        let refused = |directory: &Path, read_only| {
            let mount = Mount {
                target: "/a".parse().expect("a target"),
                read_only,
                source: Source::Bind {
                    directory: directory.to_owned(),
                    rules: Vec::new(),
                },
            };
            let error = keep_home_out(&home, &[mount]).expect_err("refused");
            error.to_string()
        };
        for read_only in [false, true] {
            let error = refused(home.root(), read_only);
            assert!(error.contains("in MSB_HOME"), "{error}");
            let error = refused(root.path(), read_only);
            assert!(error.contains("set MSB_HOME"), "{error}");
        }
    }
}
