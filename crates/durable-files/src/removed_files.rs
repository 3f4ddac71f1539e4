//! Files that are removed so that their space is free at once.

use std::io;
use std::path::Path;

use fs_err as fs;
use rustix::fs::{FileType, Mode, OFlags, fstat, ftruncate, open};

/// Removes the files in a directory, and empties those that have no other name.
///
/// The host's kernel keeps a removed file while a Landlock rule names it, and drops the rules of a
/// process up to seconds after its end (`landlock_put_ruleset_deferred` in
/// security/landlock/ruleset.c).
/// Directories and empty files stay. Errors are ignored: a removal of the whole directory follows.
pub fn remove_files(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = remove(&entry.path());
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    // The name may lead to a FIFO or to another file by now.
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty())?;
    let found = fstat(&file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile || found.st_size == 0 {
        return Ok(());
    }
    fs::remove_file(path)?;
    // A fork may have given the file another name until now. Without a name, it gets none.
    if fstat(&file)?.st_nlink == 0 {
        ftruncate(&file, 0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_emptied_unless_it_has_another_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let other = tempfile::tempdir().expect("a directory");
        for name in ["alone", "shared"] {
            fs::write(path(name), "content").expect("written");
        }
        fs::write(path("lock"), "").expect("written");
        fs::write(other.path().join("target"), "content").expect("written");
        fs::hard_link(path("shared"), other.path().join("link")).expect("linked");
        symlink(other.path().join("target"), path("symlink")).expect("linked");
        fs::create_dir(path("below")).expect("made");
        fs::write(path("below/file"), "content").expect("written");
        // A rule of the host's kernel keeps the file as an open descriptor does.
        let kept = fs::File::open(path("alone")).expect("opened");
        remove_files(directory.path());
        assert_eq!(kept.metadata().expect("asked").len(), 0);
        for name in ["alone", "shared"] {
            assert!(!path(name).exists(), "{name}");
        }
        for name in ["lock", "symlink", "below/file"] {
            assert!(path(name).exists(), "{name}");
        }
        for name in ["target", "link"] {
            let content = fs::read(other.path().join(name)).expect("read");
            assert_eq!(content, b"content", "{name}");
        }
        remove_files(&path("missing"));
    }
}
