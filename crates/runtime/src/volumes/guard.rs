use std::io;

use fs_err as fs;

use crate::{Home, flock};

/// The right to make volumes and to name them in a new sandbox, or to remove one. Nobody has the one while
/// another has the other.
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
        fs::create_dir_all(home.volumes())?;
        let file = fs::File::create(home.volumes().join(".lock"))?;
        flock::wait(&file, kind)?;
        Ok(Self(file))
    }
}
