use fs_err::File;

/// Number of bytes that are submitted at once.
const WINDOW_BYTES: u64 = 8 << 20;

/// Starts to write a growing file to its disk while more of it comes, so that the final sync has
/// little left to do.
#[derive(Debug, Default)]
pub(super) struct WriteBehind {
    /// Number of bytes that were submitted.
    begun_bytes: u64,
}

impl WriteBehind {
    /// Submits the bytes before `end_bytes`. Later changes to them are left to the final sync.
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

    /// Tells the kernel that pages are not needed (posix_fadvise(2)). It starts to write the dirty
    /// ones, which stay in memory, and drops the others.
    pub(super) fn begin_writing(file: &File, start_bytes: u64, length_bytes: u64) {
        // The final sync writes the pages that this leaves.
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

    /// Does nothing, because on this host only a sync starts a write.
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
