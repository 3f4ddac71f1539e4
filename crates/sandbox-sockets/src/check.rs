use std::path::{Path, PathBuf};

use fs_err as fs;
use msb_runtime::{Home, Mount, Source, Spec};

use crate::door::{Door, agent_path};
use crate::{SocketsError, host};

/// The number of symlinks that are followed, each to the next.
const LINKS_MAX: u32 = 8;

/// Checks before a start that the sockets of the host are there, and may be forwarded.
///
/// # Errors
/// No SSH agent, a path that does not lead to a socket, the socket of a container engine or of msb itself, or a path
/// that the sandbox could lead elsewhere.
pub fn check(spec: &Spec, home: &Home) -> Result<(), SocketsError> {
    let doors = Door::all(&spec.guest, agent_path())?;
    doors.iter().try_for_each(|door| {
        host::check(&door.host)?;
        stays(&door.host, home.root(), &spec.mounts)
    })
}

/// Checks that a path leads neither into the home nor through a directory that the guest can change: it could put a
/// symlink to another socket there.
fn stays(path: &Path, home: &Path, mounts: &[Mount]) -> Result<(), SocketsError> {
    if leads_through(path, home, LINKS_MAX) {
        return Err(SocketsError::OfMsb {
            path: path.to_owned(),
        });
    }
    match changed(mounts).find(|directory| leads_through(path, directory, LINKS_MAX)) {
        Some(directory) => Err(SocketsError::Shared {
            path: path.to_owned(),
            directory: directory.clone(),
        }),
        None => Ok(()),
    }
}

/// Returns the directories of the host that the guest can change.
fn changed(mounts: &[Mount]) -> impl Iterator<Item = &PathBuf> {
    let writable = mounts.iter().filter(|mount| !mount.read_only);
    writable.filter_map(|mount| match &mount.source {
        Source::Bind { directory, .. } => Some(directory),
        _ => None,
    })
}

/// Returns true if the path, one of its directories, or a symlink on the way is in the directory.
fn leads_through(path: &Path, directory: &Path, links: u32) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    let Some(directory) = real(directory) else {
        return false;
    };
    path.ancestors().any(|part| {
        let is_below = |part: PathBuf| part.starts_with(&directory);
        let target = || Some(part.parent()?.join(fs::read_link(part).ok()?));
        real(part).is_some_and(is_below)
            || links > 0
                && target().is_some_and(|target| leads_through(&target, &directory, links - 1))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

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
    fn a_path_that_the_sandbox_can_change_is_refused() {
        let scratch = tempfile::tempdir().expect("a directory");
        let [work, apart, home] = ["work", "apart", "home"].map(|name| scratch.path().join(name));
        for directory in [&work, &apart, &home] {
            fs::create_dir(directory).expect("made");
        }
        let (inside, outside) = (work.join("a.sock"), apart.join("b.sock"));
        let _listeners = [&inside, &outside].map(|path| UnixListener::bind(path).expect("bound"));
        // Symlinks into the shared directory, out of it, and through it.
        let into = apart.join("into");
        symlink(&inside, &into).expect("linked");
        let out = work.join("out");
        symlink(&outside, &out).expect("linked");
        let through = apart.join("through");
        symlink("../work/out", &through).expect("linked");
        for path in [&inside, &into, &out, &through] {
            let refused = stays(path, &home, &shared(&work, false)).expect_err("shared");
            assert!(matches!(refused, SocketsError::Shared { .. }), "{refused}");
            stays(path, &home, &shared(&work, true)).expect("only read");
        }
        stays(&outside, &home, &shared(&work, false)).expect("apart");
        let refused = stays(&inside, &work, &[]).expect_err("in the home");
        assert!(matches!(refused, SocketsError::OfMsb { .. }), "{refused}");
    }
}
