use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::{DiskAccess, DiskFormat, Machine, RunError, Shown};

impl Machine {
    /// Opens every file of the machine as the VMM will, so that an error names the file.
    ///
    /// # Errors
    /// The first file that cannot be opened.
    pub fn check_files(&self) -> Result<(), RunError> {
        let mut to_read = OpenOptions::new();
        to_read.read(true);
        let mut to_change = OpenOptions::new();
        to_change.read(true).write(true);
        let mut to_append = OpenOptions::new();
        to_append.append(true).create(true).mode(0o600);

        open("the guest kernel", &self.kernel, &to_read)?;
        for disk in &self.disks {
            if disk.format == DiskFormat::Served {
                // Its server has opened it.
                continue;
            }
            let options = match disk.access {
                DiskAccess::ReadOnly => &to_read,
                DiskAccess::ReadWrite => &to_change,
            };
            open("the disk", &disk.path, options)?;
        }
        for share in &self.shares {
            // Others are opened by who serves them.
            if let Shown::Directory(directory) = &share.shown {
                fs::read_dir(directory).map_err(|source| RunError::Io {
                    action: format!("open the shared directory {}", directory.display()),
                    source,
                })?;
            }
        }
        open("the console log", &self.console_log, &to_append)
    }
}

fn open(what: &str, path: &Path, options: &OpenOptions) -> Result<(), RunError> {
    options.open(path).map(drop).map_err(|source| RunError::Io {
        action: format!("open {what} {}", path.display()),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::machine::tests::machine;

    #[test]
    fn the_missing_file_is_named() {
        let mut machine = machine();
        let error = |machine: &Machine| machine.check_files().unwrap_err().to_string();
        assert_eq!(error(&machine), "cannot open the guest kernel /kernel");
        machine.kernel = PathBuf::from("/dev/null");
        assert_eq!(error(&machine), "cannot open the disk /disks/image");
        machine.disks.clear();
        machine.console_log = PathBuf::from("/no/console.log");
        assert_eq!(
            error(&machine),
            "cannot open the console log /no/console.log"
        );
        machine.console_log = PathBuf::from("/dev/null");
        assert!(machine.check_files().is_ok());
    }
}
