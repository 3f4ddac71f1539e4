use std::io::ErrorKind;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use fs_err as fs;
use msb_runtime::{Process, SandboxPaths, SupervisorConfig};

use super::hostile::HostileAgent;

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A supervisor in a process of its own, with the jail of a VMM process and without a machine.
pub(super) struct Victim {
    process: Child,
    directory: PathBuf,
}

impl Victim {
    /// Starts the supervisor of a sandbox without a command. Returns the guest's end of its port.
    pub(super) fn start(directory: &Path) -> Result<(Self, HostileAgent)> {
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        let files = SandboxPaths {
            directory: directory.to_owned(),
        };
        fs::create_dir_all(files.written())?;
        let listener = UnixListener::bind(files.socket())?;
        let (guest_end, host_end) = UnixStream::pair()?;
        let process = Command::new(std::env::current_exe()?)
            .arg("--supervise")
            .arg(directory)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::from(OwnedFd::from(host_end)))
            .stderr(fs::File::create(directory.join("log"))?.into_parts().0)
            .spawn()?;
        let victim = Self {
            process,
            directory: directory.to_owned(),
        };
        Ok((victim, HostileAgent::new(guest_end)?))
    }

    /// Returns the path of the socket for clients.
    pub(super) fn socket(&self) -> PathBuf {
        let files = SandboxPaths {
            directory: self.directory.clone(),
        };
        files.socket()
    }

    /// Returns the largest memory that the process has had, in KiB.
    pub(super) fn peak_kib(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let value = line.and_then(|line| line.split_whitespace().next());
        Ok(value.context("the supervisor has ended")?.parse()?)
    }

    /// Returns the number of records in the journal of questions, both of its files.
    pub(super) fn recorded_questions(&self) -> Result<usize> {
        let files = SandboxPaths {
            directory: self.directory.clone(),
        };
        let current = files.asks();
        let older = current.with_extension("jsonl.1");
        let mut records = 0;
        for path in [current, older] {
            match fs::read(&path) {
                Ok(journal) => records += journal.iter().filter(|byte| **byte == b'\n').count(),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(records)
    }

    /// Waits until the process has ended, and checks that nothing in it panicked.
    pub(super) fn ended(&mut self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = self.process.try_wait()? {
                break status;
            }
            if Instant::now() > deadline {
                bail!("the supervisor goes on after {limit:?}");
            }
            sleep(POLL_INTERVAL);
        };
        let log = fs::read_to_string(self.directory.join("log"))?;
        ensure!(!log.contains("panicked"), "{log}");
        Ok(status)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // If all went well, the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Is the victim: runs a supervisor whose clients come to standard input, and whose agent's port is
/// standard output.
pub(crate) fn supervise(directory: &Path) -> Result<()> {
    let listener = UnixListener::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let port = UnixStream::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let config = SupervisorConfig {
        process: Process::default(),
        guest: msb_runtime::GuestSettings::default(),
        attached: false,
        window: None,
        restart: msb_runtime::Restart::default(),
        owner: None,
        lifetime: msb_runtime::Lifetime::default(),
        stop_signal: msb_runtime::StopSignal::default(),
    };
    match msb_machine::supervise(directory, listener, port, config)? {}
}
