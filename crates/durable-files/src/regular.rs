use std::io;
use std::path::Path;

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::fs::OFlags;

/// Opens a regular file, to be read. Symlinks are followed.
///
/// Others may have put anything in the place of a file whose path was kept: a FIFO is not waited for, and a
/// terminal does not become that of the process.
///
/// # Errors
/// If it cannot be opened. A file of another type is of the kind [`io::ErrorKind::InvalidInput`].
pub fn open_regular(path: &Path) -> io::Result<fs::File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        // Reads of a regular file ignore O_NONBLOCK.
        return Ok(file);
    }
    let message = format!("{} is not a regular file", path.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        for other in [path.as_path(), directory.path(), Path::new("/dev/zero")] {
            let error = open_regular(other).expect_err("no file");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
            assert!(
                error.to_string().contains("is not a regular file"),
                "{error}"
            );
        }
        fs::remove_file(&path).expect("removed");
        fs::write(&path, "text").expect("written");
        let mut text = String::new();
        let mut file = open_regular(&path).expect("opened");
        file.read_to_string(&mut text).expect("read");
        assert_eq!(text, "text");
    }
}
