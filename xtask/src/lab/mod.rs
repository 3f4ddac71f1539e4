//! The lab: a machine with `/dev/kvm` on a host that has no hardware virtualisation.
//!
//! QEMU's TCG emulates an AMD processor with SVM and boots the guest kernel of libkrunfw on a
//! Debian tree. Inside, KVM works, so libkrun runs as it does on hardware, only slower. Times
//! measured in the lab are distorted by the emulation: nothing but ratios of like to like holds.
//!
//! A [`Job`] is one such boot: its inputs are unpacked in `/job`, its command runs there, and what
//! it leaves in `/job/out` comes back.
//!
//! ```text
//! root     EROFS: the Debian tree and /sbin/msb-lab-init
//! scratch  ext4:  the upper of the overlay over root, and /job
//! input    tar:   job/... and lab/command, lab/timeout
//! output   tar:   job/out/... and lab/stdout, lab/stderr, lab/exit-code
//! ```

mod disks;
mod machine;
mod report;
mod root_image;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};

use disks::Disks;
use machine::{Ending, Machine};
pub(crate) use report::Outcome;

/// Outer guests that never get to their job are started afresh this often.
const MAX_OUTER_STARTS: u32 = 3;

/// What to run in the lab.
pub(crate) struct Job {
    /// Host files or directories, each with its name under `/job`. Symlinks inside a directory stay
    /// what they are; extended attributes are left behind.
    pub(crate) inputs: Vec<(PathBuf, String)>,
    /// The program and its arguments. It runs as root in `/job`, with an empty standard input.
    pub(crate) command: Vec<String>,
    /// After this time the command is killed and the job has failed.
    pub(crate) timeout: Duration,
    /// The memory of the outer guest, which its microVMs share.
    pub(crate) memory_mib: u32,
    /// Whether the job needs `/dev/kvm`. Then there is one processor; two otherwise.
    pub(crate) nested: bool,
}

/// Where jobs run.
pub(crate) struct Lab<'a> {
    /// The guest kernel of libkrunfw as an ELF with a PVH note.
    pub(crate) kernel_elf: &'a Path,
    /// A Debian base directory tree, never changed. It needs perl (Debian's base has it).
    pub(crate) root_tree: &'a Path,
    /// Where the root image is cached and where each job leaves its output.
    pub(crate) work: &'a Path,
}

impl Lab<'_> {
    /// Runs `job` to its end.
    ///
    /// # Errors
    /// When the outer guest never got to the job, stopped in its midst, or the job ran too long.
    /// A command that fails is an [`Outcome`] with another code than 0.
    pub(crate) fn run(&self, job: &Job) -> Result<Outcome> {
        self.run_with(job, &[])
    }

    /// The same on a machine with more devices: further arguments of QEMU.
    ///
    /// # Errors
    /// As [`Lab::run`].
    pub(crate) fn run_with(&self, job: &Job, devices: &[String]) -> Result<Outcome> {
        let root_image = root_image::cached(self.root_tree, self.work)?;
        let run = self.new_run_directory()?;
        for outer_starts in 1..=MAX_OUTER_STARTS {
            let disks = Disks::create(&run, &root_image, job)?;
            let machine = Machine {
                kernel_elf: self.kernel_elf,
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
            fs_err::remove_dir_all(&run)?;
        }
        fs_err::create_dir_all(&run)?;
        Ok(run)
    }
}
