//! Files that an image or a guest may have replaced by anything: a FIFO, a device, a socket.

use std::fs::File;
use std::io::{self, Read as _};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::path::Arg;

/// Flags of a guarded open. It does not wait for another process, does not set this session's
/// terminal, and does not last beyond an exec.
const NEVER_WAITING: OFlags = OFlags::NONBLOCK
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens a file that must be of this type. Neither the open nor later reads and writes wait for
/// another process.
///
/// # Errors
/// `InvalidInput` if the file has another type, and the kernel's errors.
pub(crate) fn open_as(path: impl Arg, expected: FileType, access: OFlags) -> io::Result<File> {
    let file = open(path, access | NEVER_WAITING, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) == expected {
        return Ok(file.into());
    }
    let message = "the file has an unexpected type";
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Returns the content of a regular file, at most its first `limit_bytes`.
///
/// # Errors
/// `InvalidInput` if the file has another type, and the kernel's errors.
pub(crate) fn read_regular(path: impl Arg, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_as(path, FileType::RegularFile, OFlags::RDONLY)?;
    let mut bytes = Vec::new();
    file.take(limit_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;
    use std::path::{Path, PathBuf};

    use rustix::fs::{CWD, mknodat};

    use super::*;

    /// A new directory with files of every type that may stand in a file's place. It is removed
    /// when this value is dropped.
    pub(crate) struct Misfits(PathBuf);

    impl Misfits {
        pub(crate) fn new(test: &str) -> Self {
            let name = format!("msb-agent-{test}-{}", std::process::id());
            let directory = std::env::temp_dir().join(name);
            fs::create_dir(&directory).expect("made");
            let mode = Mode::RUSR | Mode::WUSR;
            mknodat(CWD, directory.join("fifo"), FileType::Fifo, mode, 0).expect("made");
            UnixListener::bind(directory.join("socket")).expect("bound");
            fs::create_dir(directory.join("directory")).expect("made");
            std::os::unix::fs::symlink("fifo", directory.join("link")).expect("linked");
            Self(directory)
        }

        pub(crate) fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        pub(crate) fn all(&self) -> Vec<PathBuf> {
            let made = ["fifo", "socket", "directory", "link", "nothing"];
            let made = made.map(|name| self.path(name)).into_iter();
            made.chain([Path::new("/dev/zero").into(), "/dev/null".into()])
                .collect()
        }
    }

    impl Drop for Misfits {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_is_no_regular_file_is_refused_and_not_waited_for() {
        let misfits = Misfits::new("guarded-file");
        for path in misfits.all() {
            read_regular(&path, 100).expect_err(&path.display().to_string());
        }
        let path = misfits.path("file");
        fs::write(&path, "0123456789").expect("written");
        assert_eq!(read_regular(&path, 4).expect("read"), b"0123");
    }

    #[test]
    fn a_fifo_that_nobody_reads_is_no_device() {
        let fifo = Misfits::new("console");
        let path = fifo.path("fifo");
        open_as(&path, FileType::CharacterDevice, OFlags::WRONLY).expect_err("no reader");
        open_as(&path, FileType::CharacterDevice, OFlags::RDWR).expect_err("no device");
        open_as("/dev/null", FileType::CharacterDevice, OFlags::WRONLY).expect("a device");
    }
}
