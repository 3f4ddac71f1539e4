use std::path::{Path, PathBuf};

use generations::GenerationId;

/// The paths of one sandbox's files.
#[derive(Debug, Clone)]
pub struct SandboxPaths {
    /// The directory of all of them.
    pub directory: PathBuf,
}

impl SandboxPaths {
    /// Returns the path of the description, `sandbox.json`.
    pub fn spec(&self) -> PathBuf {
        self.directory.join("sandbox.json")
    }

    /// Returns the path of the copy of the description.
    pub fn spec_copy(&self) -> PathBuf {
        self.directory.join("sandbox.copy.json")
    }

    /// Returns the path of a raw upper disk, which becomes the first generation when it is adopted.
    pub fn upper(&self) -> PathBuf {
        self.directory.join("upper.ext4")
    }

    /// Returns the path of the upper disk that the sandbox began with. A sandbox that began with the files of
    /// its image has none, and the file is empty if it is not on this host.
    pub fn base(&self) -> PathBuf {
        self.directory.join("base.ext4")
    }

    /// Returns the path of the image of the staged directories that the sandbox began with.
    pub fn staged(&self) -> PathBuf {
        self.directory.join("staged.erofs")
    }

    /// Returns the path of an image of staged directories that no disk lies over yet.
    pub fn unfinished_staged(&self) -> PathBuf {
        let name = format!("{}staged.erofs", durable_files::UNFINISHED);
        self.directory.join(name)
    }

    /// Returns the directory of the images of directories that were staged anew.
    pub fn layers(&self) -> PathBuf {
        self.directory.join("layers")
    }

    /// Returns the path of the image that lies below all states of the upper disk whose oldest generation is this
    /// one.
    pub fn layer(&self, oldest: GenerationId) -> PathBuf {
        self.layers().join(format!("{oldest}.erofs"))
    }

    /// Returns the directory of the images of files that were let into the staged directories later.
    pub fn let_in(&self) -> PathBuf {
        self.directory.join("let-in")
    }

    /// Returns the directory of the upper disk.
    pub fn generations(&self) -> PathBuf {
        self.directory.join("generations")
    }

    /// Returns the path of the blocks of a generation of the upper disk.
    pub fn generation(&self, id: GenerationId) -> PathBuf {
        self.generations().join(format!("{id}.data"))
    }

    /// Returns the directory in which generations of the upper disk are merged.
    pub fn merging(&self) -> PathBuf {
        self.directory.join("merging")
    }

    /// Returns true if the sandbox has an upper disk, of either form.
    pub(crate) fn has_upper(&self) -> std::io::Result<bool> {
        Ok(fs_err::exists(self.upper())? || fs_err::exists(self.generations())?)
    }

    /// Returns the directory of the records of snapshots.
    pub fn snapshots(&self) -> PathBuf {
        self.directory.join("snapshots")
    }

    /// Returns the path of the journal of the commands that were run in the sandbox.
    pub fn command_journal(&self) -> PathBuf {
        self.directory.join("commands")
    }

    /// Returns the path of the record of the last image that was made of the sandbox.
    pub fn committed(&self) -> PathBuf {
        self.directory.join("committed.json")
    }

    /// Returns the path of an unfinished record of that image.
    pub fn unfinished_committed(&self) -> PathBuf {
        let name = format!("{}committed.json", durable_files::UNFINISHED);
        self.directory.join(name)
    }

    /// Returns the path of the certificate of the sandbox's own authority.
    pub fn ca_pem(&self) -> PathBuf {
        self.directory.join(msb_guest_trust::CERTIFICATE)
    }

    /// Returns the path of the key of that authority.
    pub fn ca_key(&self) -> PathBuf {
        self.directory.join(msb_guest_trust::KEY)
    }

    /// Returns the path of the launch spec of the VMM process.
    pub fn launch_spec(&self) -> PathBuf {
        self.directory.join("machine.json")
    }

    /// Returns the path of the lock, which a process holds while the sandbox runs.
    pub fn lock(&self) -> PathBuf {
        self.directory.join("lock")
    }

    /// Returns the path of the disk of the anonymous volume at the index `index` of the mounts.
    pub fn volume(&self, index: usize) -> PathBuf {
        self.directory.join(format!("volume-{index}.ext4"))
    }

    /// Returns the path of the temporary socket of the process that serves share number `index`.
    pub fn share_socket(&self, index: usize) -> PathBuf {
        self.directory.join(format!("share-{index}.sock"))
    }

    /// Returns the path of the temporary socket of the thread that serves the writable disk.
    pub fn disk_socket(&self) -> PathBuf {
        self.directory.join("disk.sock")
    }

    /// Returns the path of the socket that clients connect to.
    pub fn socket(&self) -> PathBuf {
        self.directory.join("agent.sock")
    }

    /// Returns the path of the socket that the network process takes the values of secrets from.
    pub fn secrets_socket(&self) -> PathBuf {
        self.directory.join("secrets.sock")
    }

    /// Returns the path of the lock that the VMM process alone holds, while it lives.
    pub fn machine_lock(&self) -> PathBuf {
        self.directory.join("machine.lock")
    }

    /// Returns the path of the lock that the sandbox's owners share.
    pub fn owner_lock(&self) -> PathBuf {
        self.directory.join("owner.lock")
    }

    /// Returns the only directory in which the VMM process creates files. Its content is untrusted.
    pub fn written(&self) -> PathBuf {
        self.directory.join("written")
    }

    /// Returns the path of the output of the main command.
    pub fn output_log(&self) -> PathBuf {
        self.written().join("output.log")
    }

    /// Returns the path of the journal of the guest's questions.
    pub fn asks(&self) -> PathBuf {
        self.written().join("asks.jsonl")
    }

    /// Returns the path of the log of the network.
    pub fn network_log(&self) -> PathBuf {
        self.written().join("network.jsonl")
    }

    /// Returns the path of the counters of the network since the last start.
    pub fn network_totals(&self) -> PathBuf {
        self.written().join("network-totals.json")
    }

    /// Returns the path of the exit of the main command.
    pub fn exit(&self) -> PathBuf {
        self.written().join("exit.json")
    }

    /// Returns the path of the file that exists while the processes of the running sandbox are paused.
    pub fn paused(&self) -> PathBuf {
        self.written().join("paused")
    }

    /// Returns the path of the file that exists from the moment at which a sandbox without a main command
    /// is up until its guest has shut down. If it is there and the sandbox is not running, the machine
    /// was killed.
    pub fn up(&self) -> PathBuf {
        self.written().join("up")
    }

    /// Returns the path of the directory of the jobs.
    pub fn jobs(&self) -> PathBuf {
        self.written().join("jobs")
    }

    /// Returns the path of the ports that the network has published, with those that the host has chosen.
    pub fn ports(&self) -> PathBuf {
        self.directory.join("ports.json")
    }

    /// Returns the path of the output of the guest's console.
    pub fn console_log(&self) -> PathBuf {
        self.directory.join("console.log")
    }

    /// Returns the path of the output of the VMM process.
    pub fn vmm_log(&self) -> PathBuf {
        self.directory.join("vmm.log")
    }
}

/// The paths of one job's files.
#[derive(Debug, Clone)]
pub struct JobPaths {
    /// The directory of all of them.
    pub directory: PathBuf,
}

impl JobPaths {
    /// Returns the files of job `id` below the directory of all jobs.
    pub fn new(jobs: &Path, id: u64) -> Self {
        Self {
            directory: jobs.join(id.to_string()),
        }
    }

    /// Returns the path of the job's description.
    pub fn job(&self) -> PathBuf {
        self.directory.join("job.json")
    }

    /// Returns the path of the job's output.
    pub fn output_log(&self) -> PathBuf {
        self.directory.join("output.log")
    }

    /// Returns the path of the job's exit.
    pub fn exit(&self) -> PathBuf {
        self.directory.join("exit.json")
    }
}
