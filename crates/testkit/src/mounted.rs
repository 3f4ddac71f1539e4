use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Number of attempts, and the time between them.
const ATTEMPTS: u32 = 250;
const WAIT: Duration = Duration::from_millis(20);

/// Unmounts a filesystem that a test mounted. Returns true if it succeeded. Retries for 5 s,
/// because a process that another test is starting inherits every descriptor for an instant.
#[must_use]
pub fn unmount(place: &Path) -> bool {
    (0..ATTEMPTS).any(|_| {
        let output = Command::new("umount").arg(place).output();
        let done = output.is_ok_and(|output| output.status.success());
        if !done {
            thread::sleep(WAIT);
        }
        done
    })
}

/// The disks of a sandbox in the host's kernel, mounted as the guest's agent mounts them, until this
/// value is dropped.
#[derive(Debug)]
pub struct SandboxMounts {
    directory: tempfile::TempDir,
    mounted: Vec<PathBuf>,
}

impl SandboxMounts {
    /// Mounts an image, which is one file, and the writable disk of a sandbox.
    ///
    /// # Panics
    /// If the kernel does not mount them.
    #[must_use]
    pub fn new(image: &Path, upper: &Path) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for name in ["image", "disk", "root"] {
            fs::create_dir(directory.path().join(name)).expect("made");
        }
        let mut mounts = Self {
            directory,
            mounted: Vec::new(),
        };
        let (lower, disk) = (mounts.path("image"), mounts.disk());
        mounts.mount("erofs", "ro,loop", image, &lower);
        mounts.mount("ext4", "loop", upper, &disk);
        // Inode numbers of `xino` tell the files of both disks apart; nothing on a disk depends on
        // them.
        let options = format!(
            "lowerdir={},upperdir={}/upper,workdir={}/work,redirect_dir=on,index=on,metacopy=on,xino=on",
            lower.display(),
            disk.display(),
            disk.display()
        );
        let root = mounts.root();
        mounts.mount("overlay", &options, Path::new("overlay"), &root);
        mounts
    }

    /// Returns the mount point of the sandbox's root.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.path("root")
    }

    /// Returns the mount point of the writable disk itself.
    #[must_use]
    pub fn disk(&self) -> PathBuf {
        self.path("disk")
    }

    /// Syncs the writable disk (syncfs(2)).
    ///
    /// # Panics
    /// If the kernel cannot.
    pub fn sync(&self) {
        let disk = fs::File::open(self.disk()).expect("opened");
        rustix::fs::syncfs(&disk).expect("synced");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn mount(&mut self, kind: &str, options: &str, what: &Path, place: &Path) {
        let output = Command::new("mount")
            .args(["-t", kind, "-o", options])
            .args([what, place])
            .output()
            .expect("mount runs");
        let cried = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cannot mount {kind}: {cried}");
        self.mounted.push(place.to_owned());
    }
}

impl Drop for SandboxMounts {
    fn drop(&mut self) {
        for place in self.mounted.iter().rev() {
            assert!(unmount(place) || thread::panicking());
        }
    }
}
