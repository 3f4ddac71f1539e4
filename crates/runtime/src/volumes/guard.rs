use std::io;

use fs_err as fs;

use durable_files::flock;

use crate::Home;

/// The right to create volumes and name them in a new sandbox, or the right to remove one.
/// Processes with the former share it; the latter excludes all others.
#[derive(Debug)]
pub(crate) struct Guard(#[expect(dead_code, reason = "it is held, not used")] fs::File);

impl Guard {
    pub(crate) fn to_name(home: &Home) -> io::Result<Self> {
        Self::take(home, flock::Kind::Shared)
    }

    pub(crate) fn to_remove(home: &Home) -> io::Result<Self> {
        Self::take(home, flock::Kind::Exclusive)
    }

    fn take(home: &Home, kind: flock::Kind) -> io::Result<Self> {
        durable_files::ensure_directory(&home.volumes())?;
        let file = durable_files::create(&home.volumes().join(".lock"))?;
        flock::wait(&file, kind)?;
        Ok(Self(file))
    }
}
