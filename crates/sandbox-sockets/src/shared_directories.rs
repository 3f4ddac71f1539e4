use std::path::{Path, PathBuf};

use fs_err as fs;
use msb_runtime::{Home, Mount, Sandbox, Source};

use crate::SocketsError;
use crate::way::Way;

/// The directories of the host that guests can change, without symlinks in their paths. A guest could put a symlink to
/// another socket there.
#[derive(Debug, Default)]
pub(crate) struct SharedDirectories {
    /// The home of msb; `None` if it cannot be found.
    home: Option<PathBuf>,
    /// The directories that the sandbox itself can change.
    own: Vec<PathBuf>,
    /// The directories that any sandbox of the home can change.
    all: Vec<PathBuf>,
}

impl SharedDirectories {
    /// Reads the directories that the sandboxes of a home can change. `own` are the mounts of the sandbox itself.
    pub(crate) fn read(home: &Home, own: &[Mount]) -> Result<Self, SocketsError> {
        let sandboxes = sandboxes(home)?;
        let all = sandboxes.iter().flat_map(|sandbox| &sandbox.spec.mounts);
        Ok(Self::new(home.root(), own, all))
    }

    /// Reads them for the sandbox in `directory`, which is one of the home.
    pub(crate) fn read_for(home: &Home, directory: &Path) -> Result<Self, SocketsError> {
        let sandboxes = sandboxes(home)?;
        let is_own =
            |sandbox: &&Sandbox| sandbox.files.directory.file_name() == directory.file_name();
        let own = sandboxes.iter().find(is_own);
        let own = own.map(|own| own.spec.mounts.as_slice());
        let all = sandboxes.iter().flat_map(|sandbox| &sandbox.spec.mounts);
        Ok(Self::new(home.root(), own.unwrap_or_default(), all))
    }

    fn new<'a>(home: &Path, own: &[Mount], all: impl Iterator<Item = &'a Mount>) -> Self {
        Self {
            home: fs::canonicalize(home).ok(),
            own: own.iter().filter_map(changed).collect(),
            all: all.filter_map(changed).collect(),
        }
    }

    /// Checks that a way leads neither into the home nor through a directory that the guest can change, and over no symlink
    /// that another guest can have made.
    pub(crate) fn check(&self, path: &Path, way: &Way) -> Result<(), SocketsError> {
        let path = || path.to_owned();
        let is_below = |parts: &[PathBuf], directory: &Path| {
            let mut parts = parts.iter();
            parts.any(|part| part.starts_with(directory))
        };
        let home = self.home.as_ref();
        if home.is_some_and(|home| is_below(&way.directories, home)) {
            return Err(SocketsError::OfMsb { path: path() });
        }
        let leads_through = |shared: &&PathBuf| is_below(&way.directories, shared);
        if let Some(directory) = self.own.iter().find(leads_through) {
            return Err(SocketsError::Shared {
                path: path(),
                directory: directory.clone(),
            });
        }
        let has_link = |shared: &&PathBuf| is_below(&way.with_links, shared);
        match self.all.iter().find(has_link) {
            Some(directory) => Err(SocketsError::SharedLink {
                path: path(),
                directory: directory.clone(),
            }),
            None => Ok(()),
        }
    }
}

fn sandboxes(home: &Home) -> Result<Vec<Sandbox>, SocketsError> {
    Sandbox::all(home).map_err(|source| SocketsError::Io {
        action: "list the sandboxes",
        source,
    })
}

/// Returns the directory of the host that a mount lets the guest change.
fn changed(mount: &Mount) -> Option<PathBuf> {
    match &mount.source {
        Source::Bind { directory, .. } if !mount.read_only => fs::canonicalize(directory).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn shared(directory: &Path, read_only: bool) -> Vec<Mount> {
        vec![Mount {
            target: "/work".parse().expect("a target"),
            read_only,
            source: Source::Bind {
                directory: directory.to_owned(),
                rules: Vec::new(),
            },
        }]
    }

    #[test]
    fn a_path_that_a_sandbox_can_change_is_refused() {
        let scratch = tempfile::tempdir().expect("a directory");
        let [work, apart, home] = ["work", "apart", "home"].map(|name| scratch.path().join(name));
        for directory in [&work, &apart, &home] {
            fs::create_dir(directory).expect("made");
        }
        let (inside, outside) = (work.join("a.sock"), apart.join("b.sock"));
        for file in [&inside, &outside] {
            fs::write(file, "").expect("written");
        }
        // Symlinks into the shared directory, out of it, and through it.
        let into = apart.join("into");
        symlink(&inside, &into).expect("linked");
        let out = work.join("out");
        symlink(&outside, &out).expect("linked");
        let through = apart.join("through");
        symlink("../work/out", &through).expect("linked");
        let check = |path: &Path, home: &Path, own: &[Mount], all: &[Mount]| {
            let way = Way::follow(path).expect("a way");
            SharedDirectories::new(home, own, all.iter()).check(path, &way)
        };
        let (changed, read) = (shared(&work, false), shared(&work, true));
        for path in [&inside, &into, &out, &through] {
            let refused = check(path, &home, &changed, &changed).expect_err("shared");
            assert!(matches!(refused, SocketsError::Shared { .. }), "{refused}");
            check(path, &home, &read, &read).expect("only read");
        }
        check(&outside, &home, &changed, &changed).expect("apart");
        // Another sandbox can change the directory.
        for path in [&out, &through] {
            let refused = check(path, &home, &[], &changed).expect_err("a symlink");
            let is_link = matches!(refused, SocketsError::SharedLink { .. });
            assert!(is_link, "{refused}");
        }
        for path in [&inside, &into] {
            check(path, &home, &[], &changed).expect("no symlink there");
        }
        let refused = check(&inside, &work, &[], &[]).expect_err("in the home");
        assert!(matches!(refused, SocketsError::OfMsb { .. }), "{refused}");
    }
}
