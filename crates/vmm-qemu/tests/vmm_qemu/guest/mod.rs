//! The files of a test machine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use guest_kernel::Architecture;
use msb_vmm::{Disk, DiskAccess, DiskFormat, Machine};
use tempfile::TempDir;

/// A directory with a kernel, a root disk and space for further disks.
pub(crate) struct Guest {
    directory: TempDir,
}

impl Guest {
    pub(crate) fn new() -> Self {
        let guest = Self {
            directory: TempDir::new().expect("a temporary directory"),
        };
        fs::write(guest.path("kernel"), kernel()).unwrap();
        guest.make_root();
        guest
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns a machine with `disks`, followed by the root disk.
    pub(crate) fn machine(&self, mut disks: Vec<Disk>) -> Machine {
        disks.push(Disk {
            path: self.path("root.erofs"),
            format: DiskFormat::Raw,
            access: DiskAccess::ReadOnly,
            serial: "root".to_owned(),
        });
        Machine {
            kernel: self.path("kernel"),
            cpus: 2,
            memory_mib: 256,
            root_disk: disks.len() - 1,
            disks,
            kernel_arguments: Vec::new(),
            console_log: self.path("console, the log"),
            network: None,
            shares: Vec::new(),
        }
    }

    /// Creates a raw disk with this content.
    pub(crate) fn raw_disk(&self, serial: &str, access: DiskAccess, content: &[u8]) -> Disk {
        let path = self.path(serial);
        fs::write(&path, content).unwrap();
        Disk {
            path,
            format: DiskFormat::Raw,
            access,
            serial: serial.to_owned(),
        }
    }

    fn make_root(&self) {
        let root = self.path("root");
        for mount_point in ["proc", "sys", "dev"] {
            fs::create_dir_all(root.join(mount_point)).unwrap();
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vmm_qemu/guest/init.rs");
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args([
            "--edition=2024",
            "-Copt-level=1",
            "-Ctarget-feature=+crt-static",
            "-o",
        ]);
        run(rustc.arg(root.join("init")).arg(source));
        run(Command::new("mkfs.erofs")
            .arg(self.path("root.erofs"))
            .arg(root));
    }
}

/// Returns the guest kernel, wrapped. It is built, or fetched, the first time.
fn kernel() -> Vec<u8> {
    let source = test_fixtures::kernel::at_hand().expect("a guest kernel");
    guest_kernel::wrap(&fs::read(source).unwrap(), Architecture::HOST)
        .expect("a usable guest kernel")
        .image
}

fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {said}");
}
