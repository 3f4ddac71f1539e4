//! Notices that are printed at most once a day, not by each command.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The shortest time between two prints of a notice.
const INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
/// The directory in `MSB_HOME` that records when each notice was printed.
const DIRECTORY: &str = "notices";

/// Returns true if the notice `name` was not printed within the last day. Then records that it is
/// printed now. If that cannot be recorded, the notice is always due.
pub fn is_due(home: &Path, name: &str) -> bool {
    let stamp = home.join(DIRECTORY).join(name);
    let given = fs::metadata(&stamp).and_then(|metadata| metadata.modified());
    // A time in the future means that the clock was set back.
    let age = given.ok().and_then(|given| given.elapsed().ok());
    if age.is_some_and(|age| age < INTERVAL) {
        return false;
    }
    // An unwritable home is reported by the command itself; a repeated notice does no harm.
    let _ = note(&stamp);
    true
}

fn note(stamp: &Path) -> io::Result<()> {
    if let Some(directory) = stamp.parent() {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory)?;
    }
    let file = File::options().create(true).append(true).open(stamp)?;
    file.set_modified(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_due_once_a_day() {
        let home = tempfile::tempdir().expect("a directory");
        let is_due = |name| is_due(home.path(), name);
        assert!(is_due("slow"));
        assert!(!is_due("slow"));
        assert!(is_due("other"));
        let stamp = File::options()
            .write(true)
            .open(home.path().join(DIRECTORY).join("slow"))
            .expect("noted");
        let now = SystemTime::now();
        for time in [now - INTERVAL, now + INTERVAL] {
            stamp.set_modified(time).expect("set");
            assert!(is_due("slow"));
            assert!(!is_due("slow"));
        }
    }

    #[test]
    fn where_nothing_can_be_noted_it_is_due() {
        assert!(is_due(Path::new("/proc"), "slow"));
        assert!(is_due(Path::new("/proc"), "slow"));
    }
}
