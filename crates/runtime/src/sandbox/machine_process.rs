//! The process that runs a sandbox's machine. The host's kernel names the holder of a lock.
//! A number in a file is not believed, because it outlives its process.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use fs_err::{self as fs, File};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{
    Flock, FlockType, Pid, PidfdFlags, Signal, fcntl_getlk, getpgid, kill_process_group,
    pidfd_open, pidfd_send_signal,
};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::SandboxPaths;

/// The mark of the process that runs a sandbox's machine, for as long as that process lives.
/// It is a record lock (`F_SETLK`), which belongs to one process and is not inherited. The lock
/// goes when this process closes any descriptor of the file, so nothing else opens that file.
#[derive(Debug)]
pub struct MachineLock(#[expect(dead_code, reason = "it is held, not used")] File);

impl MachineLock {
    /// Takes the lock for this process.
    ///
    /// # Errors
    /// Another process that runs the machine, or a file that cannot be opened.
    pub fn take(files: &SandboxPaths) -> io::Result<Self> {
        let file = durable_files::open_or_create(&files.machine_lock())?;
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(Errno::AGAIN | Errno::ACCESS) => {
                Err(io::Error::other("another process holds the machine's lock"))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The process that runs the machine of a sandbox.
/// Its handle (a pidfd) never refers to another process, even if the process id is reused.
#[derive(Debug)]
pub(crate) struct MachineProcess {
    id: Pid,
    handle: OwnedFd,
}

impl MachineProcess {
    /// Finds the process; `None` if no process holds the machine's lock, or not yet.
    ///
    /// # Errors
    /// A kernel that cannot be asked, or a process in another PID namespace.
    pub(crate) fn find(files: &SandboxPaths) -> io::Result<Option<Self>> {
        let file = match File::open(files.machine_lock()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let Some(id) = holder(&file)? else {
            return Ok(None);
        };
        let handle = match pidfd_open(id, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return Ok(None),
            opened => opened?,
        };
        // Between the two calls the id may have passed to another process, which does not hold the
        // lock.
        let is_still_its = holder(&file)? == Some(id);
        Ok(is_still_its.then_some(Self { id, handle }))
    }

    /// Returns the process id, for reading the process's statistics.
    pub(crate) const fn id(&self) -> Pid {
        self.id
    }

    /// Kills the process and the others of its group: the network and the shares.
    ///
    /// # Errors
    /// If a process may not be signalled.
    pub(crate) fn kill(&self) -> io::Result<()> {
        // The process group keeps the id of its leader while the leader exists.
        if !self.has_ended()? && getpgid(Some(self.id)) == Ok(self.id) {
            gone_is_fine(kill_process_group(self.id, Signal::KILL))?;
        }
        gone_is_fine(pidfd_send_signal(&self.handle, Signal::KILL))
    }

    /// Returns true if a signal or a debugger has stopped the process.
    pub(crate) fn is_stopped(&self) -> bool {
        let path = format!("/proc/{}/stat", self.id.as_raw_nonzero());
        let Ok(status) = fs::read_to_string(path) else {
            return false;
        };
        // The name of the program, in parentheses, may contain anything.
        let state = status
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next());
        matches!(state, Some('T' | 't'))
    }

    /// Waits until the process has ended, without looking at it again and again.
    ///
    /// # Errors
    /// If the event loop cannot watch the process.
    #[expect(
        deprecated,
        reason = "the other constructors are unsafe; the descriptor stays open while it is watched"
    )]
    pub(crate) async fn ended(&self) -> io::Result<()> {
        let handle = AsyncFd::with_interest(self.handle.as_fd(), Interest::READABLE)?;
        handle.readable().await.map(drop)
    }

    /// Returns true if the process has ended, even if its parent has not reaped it.
    fn has_ended(&self) -> io::Result<bool> {
        let mut ended = [PollFd::new(&self.handle, PollFlags::IN)];
        Ok(poll(&mut ended, Some(&Timespec::default()))? > 0)
    }
}

/// Returns the id of the process that holds a machine's lock; `None` if the lock is free.
fn holder(file: &File) -> io::Result<Option<Pid>> {
    let Some(held) = fcntl_getlk(file, &Flock::from(FlockType::WriteLock))? else {
        return Ok(None);
    };
    // The kernel reports 0 if this process cannot see the holder.
    let unseen =
        || io::Error::other("its process is in another PID namespace, such as that of a container");
    held.pid.map(Some).ok_or_else(unseen)
}

fn gone_is_fine(sent: rustix::io::Result<()>) -> io::Result<()> {
    match sent {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::sandbox::{Lock, Sandbox, Spec};
    use crate::{ConnectError, Home};

    /// The environment variable that names the sandbox's directory for the child process.
    const DIRECTORY: &str = "MACHINE_PROCESS_DIRECTORY";
    const READY: &str = "has the machine\n";

    /// Does nothing unless a test starts it as a child.
    /// This program is then the VMM process, with another process in its group.
    #[test]
    fn child_that_has_a_machine() {
        let Some(directory) = std::env::var_os(DIRECTORY) else {
            return;
        };
        let files = SandboxPaths {
            directory: PathBuf::from(directory),
        };
        let _lock = Lock::take(&files).expect("a lock file").expect("free");
        let _machine = MachineLock::take(&files).expect("free");
        let mut beside = Command::new("sleep").arg("600").spawn().expect("started");
        // The test harness does not capture what goes directly to this file.
        fs::write("/dev/stdout", READY).expect("said");
        beside.wait().expect("waited for");
    }

    /// Starts a VMM process, and waits until it has its machine.
    fn machine(directory: &Path) -> (Child, BufReader<std::process::ChildStdout>) {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "--nocapture"])
            .arg("sandbox::machine_process::tests::child_that_has_a_machine")
            .env(DIRECTORY, directory)
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        while !line.ends_with(READY) {
            line.clear();
            assert!(said.read_line(&mut line).expect("read") > 0, "it ended");
        }
        (child, said)
    }

    fn sandbox(root: &Path) -> Sandbox {
        Sandbox::for_tests(&Home::new(root), Spec::for_tests("a"))
    }

    #[tokio::test]
    async fn the_process_that_has_the_machine_is_killed_with_its_group() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandbox(root.path());
        assert!(matches!(
            sandbox.kill().await,
            Err(ConnectError::NotRunning { .. })
        ));
        let (mut child, mut said) = machine(sandbox.directory());
        let found = sandbox.machine_process_id().expect("asked");
        assert_eq!(found, Some(child.id()));
        sandbox.kill().await.expect("killed");
        let status = child.wait().expect("waited for");
        assert_eq!(status.signal(), Some(9), "{status}");
        // The other process of the group has the pipe open too.
        said.read_to_end(&mut Vec::new()).expect("read");
        assert_eq!(sandbox.machine_process_id().expect("asked"), None);
    }

    /// Returns the number of times that this thread has gone to sleep.
    fn sleeps() -> u64 {
        let status = fs::read_to_string("/proc/thread-self/status").expect("read");
        let count = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count
            .and_then(|count| count.trim().parse().ok())
            .expect("a count")
    }

    #[tokio::test]
    async fn who_waits_for_the_end_of_a_machine_sleeps_until_then() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandbox(root.path());
        let (mut child, _said) = machine(sandbox.directory());
        let waiting = |_| {
            let sandbox = sandbox.clone();
            tokio::spawn(async move { sandbox.wait().await })
        };
        let waiting: Vec<_> = (0..100).map(waiting).collect();
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let before = sleeps();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        // A client that looked every 10 ms would have slept 100 times.
        let count = sleeps() - before;
        assert!(count < 20, "it woke up {count} times");
        let found = MachineProcess::find(&sandbox.files).expect("asked");
        found.expect("it runs").kill().expect("killed");
        for waiting in waiting {
            waiting.await.expect("no panic").expect("waited for");
        }
        child.wait().expect("waited for");
    }

    #[test]
    fn a_stopped_process_is_known() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandbox(root.path());
        let (mut child, _said) = machine(sandbox.directory());
        let found = MachineProcess::find(&sandbox.files).expect("asked");
        let found = found.expect("it runs");
        assert!(!found.is_stopped());
        pidfd_send_signal(&found.handle, Signal::STOP).expect("sent");
        // The signal is delivered by the time that the parent sees the stop.
        let pid = Some(found.id);
        let stopped = rustix::process::waitpid(pid, rustix::process::WaitOptions::UNTRACED);
        assert!(
            stopped
                .expect("waited for")
                .is_some_and(|(_, status)| status.stopped())
        );
        assert!(found.is_stopped());
        found.kill().expect("killed");
        child.wait().expect("waited for");
    }

    #[tokio::test]
    async fn a_sandbox_that_is_being_started_is_waited_for_too() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandbox(root.path());
        let starting = sandbox.lock().expect("a lock file").expect("free");
        let waiting = sandbox.wait();
        tokio::pin!(waiting);
        let soon = std::time::Duration::from_millis(100);
        assert!(tokio::time::timeout(soon, &mut waiting).await.is_err());
        drop(starting);
        waiting.await.expect("waited for");
    }

    #[tokio::test]
    async fn a_number_in_a_file_kills_nobody() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandbox(root.path());
        let mut stranger = Command::new("sleep")
            .arg("600")
            .process_group(0)
            .spawn()
            .expect("started");
        // Earlier versions left such a file when a machine had ended.
        let number = stranger.id().to_string();
        fs::write(sandbox.directory().join("vmm.pid"), &number).expect("written");
        fs::write(sandbox.files.machine_lock(), &number).expect("written");
        let starting = sandbox.lock().expect("a lock file").expect("free");
        assert!(matches!(
            sandbox.kill().await,
            Err(ConnectError::Starting { .. })
        ));
        assert!(stranger.try_wait().expect("looked").is_none());
        drop(starting);
        stranger.kill().expect("killed");
        stranger.wait().expect("waited for");
    }

    #[test]
    fn one_process_has_a_machine() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandbox(root.path());
        let (mut child, _said) = machine(sandbox.directory());
        let error = MachineLock::take(&sandbox.files).expect_err("taken");
        assert!(error.to_string().contains("another process"), "{error}");
        let found = MachineProcess::find(&sandbox.files).expect("asked");
        found.expect("it runs").kill().expect("killed");
        child.wait().expect("waited for");
        MachineLock::take(&sandbox.files).expect("free");
    }
}
