use fs_err::File;

/// How much is handed over at once, in bytes.
const WINDOW_BYTES: u64 = 8 << 20;

/// Has a growing file written to its disk while more of it comes, so that a sync at the end finds
/// little left to do.
#[derive(Debug, Default)]
pub(super) struct WriteBehind {
    /// How much of the file has been handed over, in bytes.
    begun_bytes: u64,
}

impl WriteBehind {
    /// Hands over what lies in front of `end_bytes`. What changes there later is left to the sync.
    pub(super) fn advance(&mut self, file: &File, end_bytes: u64) {
        while end_bytes.saturating_sub(self.begun_bytes) >= WINDOW_BYTES {
            sys::begin_writing(file, self.begun_bytes, WINDOW_BYTES);
            self.begun_bytes += WINDOW_BYTES;
        }
    }
}

#[cfg(target_os = "linux")]
mod sys {
    use std::num::NonZeroU64;

    use fs_err::File;
    use rustix::fs::{Advice, fadvise};

    /// Pages that will not be needed are written, where they are dirty, and dropped, where they are
    /// not (posix_fadvise(2)): these begin to be written, and stay.
    pub(super) fn begin_writing(file: &File, start_bytes: u64, length_bytes: u64) {
        // The sync at the end writes what this does not.
        let _ = fadvise(
            file,
            start_bytes,
            NonZeroU64::new(length_bytes),
            Advice::DontNeed,
        );
    }
}

#[cfg(not(target_os = "linux"))]
mod sys {
    use fs_err::File;

    /// Nothing but a sync makes this host write.
    pub(super) fn begin_writing(_file: &File, _start_bytes: u64, _length_bytes: u64) {}
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn whole_windows_are_handed_over_and_stay_as_they_are() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("x");
        let mut file = File::create(&path).expect("made");
        let mut written = WriteBehind::default();
        let bytes: Vec<u8> = (0..=250).cycle().take(10 << 20).collect();
        for (part, begun_bytes) in bytes.chunks(5 << 20).zip([0, WINDOW_BYTES]) {
            file.write_all(part).expect("written");
            let end_bytes = file.metadata().expect("there").len();
            written.advance(&file, end_bytes);
            assert_eq!(written.begun_bytes, begun_bytes);
        }
        assert!(fs_err::read(&path).expect("read") == bytes);
    }
}
