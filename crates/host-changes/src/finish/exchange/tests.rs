use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::*;

const OTHER: &[u8] = b".msb-apply-0123456789abcdef";
const PLACE: &[u8] = b"a";

/// A directory with an old file, and a new one under another name.
struct Scene {
    directory: tempfile::TempDir,
    open: OwnedFd,
    planned: HostState,
    identity: FileIdentity,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("a"), "old").expect("written");
        fs::write(path_of_other(directory.path()), "new").expect("written");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let open = openat(CWD, directory.path(), flags, Mode::empty()).expect("open");
        let found = |name| stat(&open, name).expect("looked").expect("there");
        let planned = HostState::new(&found(PLACE));
        let identity = FileIdentity::new(&found(OTHER));
        Self {
            directory,
            open,
            planned,
            identity,
        }
    }

    fn exchange(&self) -> Exchange<'_> {
        Exchange {
            from: &self.open,
            other: OTHER,
            to: &self.open,
            name: PLACE,
            identity: self.identity,
        }
    }

    /// Saves a file as editors do: another file takes its place.
    fn save(&self, text: &str) {
        let new = self.directory.path().join("#a#");
        fs::write(&new, text).expect("written");
        fs::rename(new, self.directory.path().join("a")).expect("renamed");
    }

    /// Returns the names in the directory with their contents.
    fn files(&self) -> Vec<(String, String)> {
        let entries = fs::read_dir(self.directory.path()).expect("listed");
        let mut files: Vec<_> = entries
            .map(|entry| entry.expect("an entry"))
            .map(|entry| {
                let text = fs::read_to_string(entry.path()).expect("read");
                (entry.file_name().into_string().expect("UTF-8"), text)
            })
            .collect();
        files.sort();
        files
    }
}

fn path_of_other(directory: &Path) -> PathBuf {
    directory.join(&*String::from_utf8_lossy(OTHER))
}

fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let files = files.iter();
    files
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn the_planned_file_is_replaced() {
    let scene = Scene::new();
    assert_eq!(scene.exchange().replace(&scene.planned), Ok(Ended::Done));
    assert_eq!(scene.files(), files(&[("a", "new")]));
}

#[test]
fn an_edit_just_before_the_exchange_is_put_back() {
    let scene = Scene::new();
    scene.save("edited");
    let ended = scene.exchange().replace(&scene.planned);
    assert_eq!(ended, Ok(Ended::Left(None)));
    assert_eq!(scene.files(), files(&[("a", "edited")]));
    // A write into the file is an edit, too, and so is a file that is gone.
    let scene = Scene::new();
    fs::write(scene.directory.path().join("a"), "written").expect("written");
    let ended = scene.exchange().replace(&scene.planned);
    assert_eq!(ended, Ok(Ended::Left(None)));
    assert_eq!(scene.files(), files(&[("a", "written")]));
    let scene = Scene::new();
    fs::remove_file(scene.directory.path().join("a")).expect("removed");
    let ended = scene.exchange().replace(&scene.planned);
    assert_eq!(ended, Ok(Ended::Left(None)));
    assert!(scene.files().is_empty());
}

#[test]
fn a_directory_that_took_the_place_is_put_back() {
    let scene = Scene::new();
    let place = scene.directory.path().join("a");
    fs::remove_file(&place).expect("removed");
    fs::create_dir(&place).expect("made");
    let ended = scene.exchange().replace(&scene.planned);
    assert_eq!(ended, Ok(Ended::Left(None)));
    assert!(place.is_dir());
    assert!(!path_of_other(scene.directory.path()).exists());
}

#[test]
fn of_two_edits_during_the_exchange_the_newer_stays_and_the_other_is_kept() {
    let scene = Scene::new();
    scene.save("first edit");
    let exchange = scene.exchange();
    exchange.rename(RenameFlags::EXCHANGE).expect("exchanged");
    scene.save("second edit");
    let kept = b"a.msb-kept".to_vec();
    let ended = exchange.settle(&scene.planned);
    assert_eq!(ended, Ok(Ended::Left(Some(kept))));
    let expected = [("a", "second edit"), ("a.msb-kept", "first edit")];
    assert_eq!(scene.files(), files(&expected));
}

#[test]
fn an_edit_returns_to_a_place_that_is_free_again() {
    let scene = Scene::new();
    scene.save("edited");
    let exchange = scene.exchange();
    exchange.rename(RenameFlags::EXCHANGE).expect("exchanged");
    fs::remove_file(scene.directory.path().join("a")).expect("removed");
    assert_eq!(exchange.settle(&scene.planned), Ok(Ended::Left(None)));
    assert_eq!(scene.files(), files(&[("a", "edited")]));
}

#[test]
fn an_edit_is_kept_under_a_free_name_that_is_short_enough() {
    let scene = Scene::new();
    for name in ["a.msb-kept", "a.msb-kept-2"] {
        fs::write(scene.directory.path().join(name), "mine").expect("written");
    }
    let kept = b"a.msb-kept-3".to_vec();
    assert_eq!(scene.exchange().keep(), Ended::Left(Some(kept)));
    let scene = Scene::new();
    let long = [b'x'; 250];
    let exchange = Exchange {
        name: &long,
        ..scene.exchange()
    };
    let kept = b"msb-kept-0123456789abcdef".to_vec();
    assert_eq!(exchange.keep(), Ended::Left(Some(kept)));
}

#[test]
fn a_new_file_does_not_replace_one() {
    let scene = Scene::new();
    assert_eq!(scene.exchange().add(), Ok(Ended::Left(None)));
    assert_eq!(scene.files(), files(&[("a", "old")]));
    let scene = Scene::new();
    fs::remove_file(scene.directory.path().join("a")).expect("removed");
    assert_eq!(scene.exchange().add(), Ok(Ended::Done));
    assert_eq!(scene.files(), files(&[("a", "new")]));
}

#[test]
fn the_state_of_a_killed_process_is_seen() {
    let scene = Scene::new();
    let exchange = scene.exchange();
    assert_eq!(exchange.look(), Ok(Seen::Waiting));
    exchange.rename(RenameFlags::EXCHANGE).expect("exchanged");
    assert_eq!(exchange.look(), Ok(Seen::Exchanged));
    let other = path_of_other(scene.directory.path());
    fs::remove_file(&other).expect("removed");
    assert_eq!(exchange.look(), Ok(Seen::Done));
    // The new file keeps its inode, so that the next one has another number.
    let _kept = File::open(scene.directory.path().join("a")).expect("open");
    scene.save("edited");
    assert_eq!(exchange.look(), Ok(Seen::Lost));
    fs::write(other, "another").expect("written");
    assert_eq!(exchange.look(), Ok(Seen::Replaced));
}
