//! The lab: a machine with `/dev/kvm` on a host that has no hardware virtualisation.
//!
//! QEMU's TCG emulates an AMD processor with SVM and boots libkrunfw's kernel, which has KVM, on a
//! Debian tree. Inside, KVM works, so libkrun runs as it does on hardware, only slower. The
//! emulation distorts times measured in the lab: only ratios of similar workloads are meaningful.
//!
//! A [`Job`] is one such boot: its inputs are unpacked in `/job`, its command runs there, and the
//! content of `/job/out` is returned.
//!
//! ```text
//! root     EROFS: the Debian tree and /sbin/msb-lab-init
//! scratch  ext4:  the upper of the overlay over root, and /job
//! input    tar:   job/... and lab/command, lab/timeout
//! output   tar:   job/out/... and lab/stdout, lab/stderr, lab/exit-code
//! ```

mod disks;
mod kernel_image;
mod machine;
mod report;
mod root_image;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use fs_err as fs;
use test_fixtures::{images, kernel, paths};

use crate::guest_slot::GuestSlot;
use disks::Disks;
use machine::{Ending, Machine};
pub use report::Outcome;

/// Most starts of outer guests that do not begin their job.
const MAX_OUTER_STARTS: u32 = 3;

/// A command to run in the lab, with its inputs.
#[derive(Debug, Clone)]
pub struct Job {
    /// Host files or directories, each with its name under `/job`.
    /// Symlinks inside a directory are kept; extended attributes are not.
    pub inputs: Vec<(PathBuf, String)>,
    /// The program and its arguments. It runs as root in `/job`, with an empty standard input.
    pub command: Vec<String>,
    /// Time limit of the command, after which it is killed and the job has failed.
    pub timeout: Duration,
    /// The memory of the outer guest, which its microVMs share.
    pub memory_mib: u32,
    /// True if the job needs `/dev/kvm`. The guest then has one processor; two otherwise.
    pub nested: bool,
}

/// The files that jobs run with.
#[derive(Debug)]
pub struct Lab {
    /// The kernel of the outer guest as an ELF with a PVH note.
    kernel_elf: PathBuf,
    /// A Debian base directory tree, never changed. It needs perl (Debian's base has it).
    root_tree: PathBuf,
    /// The directory of the cached root image and of each job's output.
    work: PathBuf,
}

impl Lab {
    /// Prepares the lab with libkrunfw's kernel and a Debian base.
    /// Both are made at their first use.
    ///
    /// # Errors
    /// If the kernel or the base cannot be fetched or made.
    pub fn prepare() -> Result<Self> {
        Self::with_kernel(&kernel::libkrunfw()?)
    }

    /// Prepares the lab with another kernel. Jobs that are nested need one that has KVM.
    ///
    /// # Errors
    /// If the kernel cannot be read, or the base cannot be fetched or made.
    pub fn with_kernel(kernel: &Path) -> Result<Self> {
        let work = paths::kept("lab")?;
        Ok(Self {
            kernel_elf: kernel_image::cached(kernel, &work)?,
            root_tree: images::base_tree()?,
            work,
        })
    }

    /// Runs `job` to its end.
    ///
    /// # Errors
    /// If the outer guest did not begin the job or stopped during it, or if the job ran too long. A
    /// command that fails is an [`Outcome`] with another code than 0.
    pub fn run(&self, job: &Job) -> Result<Outcome> {
        self.run_with(job, &[])
    }

    /// Runs `job` on a machine with additional devices: further arguments of QEMU.
    ///
    /// # Errors
    /// Those of [`Lab::run`].
    pub fn run_with(&self, job: &Job, devices: &[String]) -> Result<Outcome> {
        let _slot = GuestSlot::acquire()?;
        let root_image = root_image::cached(&self.root_tree, &self.work)?;
        let run = self.new_run_directory()?;
        for outer_starts in 1..=MAX_OUTER_STARTS {
            let disks = Disks::create(&run, &root_image, job)?;
            let machine = Machine {
                kernel_elf: &self.kernel_elf,
                disks: &disks,
                job,
                devices,
            };
            match machine.boot_to_end(&run.join(format!("console-{outer_starts}.txt")))? {
                Ending::JobNeverBegan => {}
                Ending::JobEnded => return report::read(&disks, &run, outer_starts),
            }
        }
        bail!(
            "the outer guest did not begin its job in {MAX_OUTER_STARTS} starts; see the consoles in {}",
            run.display()
        )
    }

    fn new_run_directory(&self) -> Result<PathBuf> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let run = self
            .work
            .join("runs")
            .join(format!("{}-{count}", std::process::id()));
        if run.exists() {
            fs::remove_dir_all(&run)?;
        }
        fs::create_dir_all(&run)?;
        Ok(run)
    }
}
