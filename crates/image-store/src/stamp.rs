//! Stamps, which prove that artifacts were not changed since their digest was last verified.
//!
//! A stamp is an empty file whose *modification time* is the beginning of a digest: of the
//! artifact's device, inode, length, modification time, change time, and of the digest of its
//! content. It contains no bytes, cannot be half-written, and costs two `stat` calls to check. A
//! stamp that is lost or wrong only costs a full digest.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{io, thread};

use durable_files::{FileState, time_to_rest};
use fs_err as fs;
use oci_image::Digest;
use rustix::fs::AtFlags;

use super::layout::Layout;
use crate::checksum::Checksum;

/// Check of an artifact before its use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VerifyMode {
    /// The artifact did not change since its digest was last verified, or its digest is verified
    /// now.
    #[default]
    Stamp,
    /// The artifact's digest is verified now.
    Digest,
}

impl VerifyMode {
    /// Returns the strict check if `verify` is true.
    pub const fn verifying(verify: bool) -> Self {
        if verify { Self::Digest } else { Self::Stamp }
    }
}

/// Returns true if the artifact `file` has the digest `expected`, and stamps it in that case.
pub fn prove(
    layout: &Layout,
    file: &str,
    expected: &Checksum,
    trust: VerifyMode,
) -> io::Result<bool> {
    prove_by(layout, file, expected, trust, |path| {
        Ok(Checksum::compute_file(path)?.0 == *expected)
    })
}

/// Returns true if the artifact `file` has the digest `expected`, and stamps it in that case. If the
/// stamp does not prove it, `is_right` reads the artifact at its path.
pub(crate) fn prove_by(
    layout: &Layout,
    file: &str,
    expected: &Checksum,
    trust: VerifyMode,
    is_right: impl FnOnce(&Path) -> io::Result<bool>,
) -> io::Result<bool> {
    let (path, stamp) = (layout.artifact(file), layout.stamp(file));
    let before = FileState::read(&path)?;
    if trust == VerifyMode::Stamp && is_stamped(&stamp, &before, expected) {
        return Ok(true);
    }
    // Until then, a further change might not show in another time.
    if let Some(missing) = before.time_to_rest() {
        thread::sleep(missing);
    }
    let is_right = is_right(&path)?;
    if is_right && FileState::read(&path)? == before {
        put(&stamp, &before, expected);
    } else {
        remove(&stamp);
    }
    Ok(is_right)
}

/// Stamps an artifact that was digested before it got its final name.
pub fn put_new(layout: &Layout, file: &str, blake3: &Checksum) {
    if let Ok(state) = FileState::read(&layout.artifact(file)) {
        put(&layout.stamp(file), &state, blake3);
    }
}

/// The state of many files, and the record that they match. One stamp proves that none of them
/// changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    text: String,
    /// False if a file changed so recently that a further change might not show.
    is_at_rest: bool,
}

impl Group {
    /// Creates a group without files. `found` is the record that a check of the files would
    /// compare.
    pub fn new(found: &str) -> Self {
        Self {
            text: format!("msb stamp of many 2\n{found}\n"),
            is_at_rest: true,
        }
    }

    /// Adds the current state of files in a directory. Each lookup starts at the directory, so it
    /// resolves only one name.
    ///
    /// # Errors
    /// If one of the files does not exist.
    pub fn add<'a>(
        &mut self,
        directory: &Path,
        names: impl Iterator<Item = &'a str>,
    ) -> io::Result<()> {
        let directory = fs::File::open(directory)?;
        for name in names {
            let stat = rustix::fs::statat(directory.file(), name, AtFlags::empty())?;
            self.is_at_rest &= time_to_rest(stat.st_ctime, stat.st_ctime_nsec).is_none();
            let _ = writeln!(
                self.text,
                "{} {} {} {}.{:09} {}.{:09}",
                stat.st_dev,
                stat.st_ino,
                stat.st_size,
                stat.st_mtime,
                stat.st_mtime_nsec,
                stat.st_ctime,
                stat.st_ctime_nsec,
            );
        }
        Ok(())
    }

    /// Returns true if the stamp proves that the files are unchanged.
    pub fn is_stamped(&self, stamp: &Path) -> bool {
        self.is_at_rest && holds(stamp, time_of(&self.text))
    }

    /// Stamps the files, which were checked since.
    pub fn put(&self, stamp: &Path) {
        if self.is_at_rest {
            put_time(stamp, time_of(&self.text));
        }
    }
}

fn is_stamped(stamp: &Path, state: &FileState, blake3: &Checksum) -> bool {
    holds(stamp, as_time(state, blake3))
}

fn holds(stamp: &Path, time: SystemTime) -> bool {
    fs::metadata(stamp)
        .and_then(|metadata| metadata.modified())
        .is_ok_and(|modified| modified == time)
}

fn put(stamp: &Path, state: &FileState, blake3: &Checksum) {
    put_time(stamp, as_time(state, blake3));
}

/// Sets a stamp. A failure costs time later, and is not an error now.
fn put_time(stamp: &Path, time: SystemTime) {
    if let Ok(file) = durable_files::create(stamp) {
        let _ = file.file().set_modified(time);
    }
}

/// Returns the beginning of a text's digest as a time that every filesystem can store.
fn time_of(text: &str) -> SystemTime {
    let digest = Digest::compute(text.as_bytes());
    let (seconds, rest) = digest.as_bytes().split_at(4);
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .take(4)
            .fold(0_u32, |number, &byte| number << 8 | u32::from(byte))
    };
    let seconds = number(seconds) >> 1;
    let nanoseconds = number(rest) % 1_000_000_000;
    UNIX_EPOCH + Duration::new(u64::from(seconds), nanoseconds)
}

fn remove(stamp: &Path) {
    // A stamp that stays does not match the file's state.
    let _ = fs::remove_file(stamp);
}

/// Returns state and checksum as a time that every filesystem can store.
fn as_time(state: &FileState, blake3: &Checksum) -> SystemTime {
    time_of(&format!("msb stamp 3\n{state:?}\n{blake3}\n"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use durable_files::CLOCK_TICK;

    use super::*;

    #[test]
    fn a_stamp_holds_until_the_file_is_written_to() {
        let home = tempfile::tempdir().expect("a directory");
        let layout = Layout::new(home.path());
        layout.create().expect("a store");
        let (path, stamp) = (layout.artifact("x"), layout.stamp("x"));
        let good = Checksum::compute(b"content");
        fs::write(&path, b"content").expect("written");
        let proves = |trust| prove(&layout, "x", &good, trust).expect("read");
        assert!(proves(VerifyMode::Stamp) && stamp.exists());
        assert_eq!(fs::metadata(&stamp).expect("there").len(), 0);
        let state = FileState::read(&path).expect("there");
        assert!(is_stamped(&stamp, &state, &good));
        assert!(!is_stamped(&stamp, &state, &Checksum::compute(b"other")));

        // The content changes with the same length, and the old modification time is restored.
        let modified = fs::metadata(&path).and_then(|file| file.modified());
        let file = fs::File::options().write(true).open(&path).expect("opened");
        file.file().write_at(b"C", 0).expect("written");
        file.file()
            .set_modified(modified.expect("a time"))
            .expect("set");
        assert!(!proves(VerifyMode::Stamp) && !stamp.exists());

        file.file().write_at(b"c", 0).expect("written");
        assert!(proves(VerifyMode::Digest) && stamp.exists());
        fs::remove_file(&stamp).expect("removed");
        assert!(proves(VerifyMode::Stamp));
    }

    #[test]
    fn a_stamp_of_many_holds_until_one_is_written_to() {
        let home = tempfile::tempdir().expect("a directory");
        let stamp = home.path().join("stamp");
        let files = ["a", "b"].map(|name| home.path().join(name));
        for file in &files {
            fs::write(file, b"content").expect("written");
        }
        let group = |found: &str| {
            let mut group = Group::new(found);
            let added = group.add(home.path(), ["a", "b"].into_iter());
            added.map(|()| group)
        };
        let whole = |found: &str| group(found).expect("there");
        whole("x").put(&stamp);
        assert!(!stamp.exists(), "they changed just now");
        thread::sleep(2 * CLOCK_TICK);
        whole("x").put(&stamp);
        assert!(whole("x").is_stamped(&stamp) && !whole("y").is_stamped(&stamp));
        fs::write(&files[1], b"CONTENT").expect("written");
        assert!(!whole("x").is_stamped(&stamp));
        thread::sleep(2 * CLOCK_TICK);
        assert!(!whole("x").is_stamped(&stamp));
        fs::remove_file(&files[0]).expect("removed");
        assert!(group("x").is_err());
    }
}
