//! The pause of the sandbox: the kernel's freezer of control groups stops every process but the agent.
//!
//! Each group right below the root of the hierarchy is frozen, and with it the groups in it: that of all
//! commands, and those that the guest's root has made. The agent is in the root itself, which cannot be
//! frozen; so is whatever the guest's root has moved there, and that goes on.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use msb_agent_protocol::Status;
use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant, sleep};

use crate::boot;
use crate::console;
use crate::exec::Running;

/// The time for all processes to be frozen. One that waits for a disk is frozen once it has its answer.
const FREEZE_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The largest number of groups below the root, each of which costs the agent an open file for a moment.
const GROUPS_MAX: usize = 256;
/// The largest length of `cgroup.events` that is read; the kernel writes two short lines.
const EVENTS_MAX_BYTES: usize = 4096;

/// Held while a call pauses or continues the sandbox; others wait for it.
static TURN: Mutex<()> = Mutex::const_new(());

/// The reason why the sandbox cannot be paused.
#[derive(Debug, thiserror::Error)]
enum PauseError {
    #[error("the guest's kernel has no control groups")]
    NoGroups,
    #[error("the guest has more than {GROUPS_MAX} control groups at the top")]
    TooMany,
    #[error("not all processes were frozen within {} s", FREEZE_TIMEOUT.as_secs())]
    Late,
    #[error("the sandbox is shutting down")]
    Ending,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Freezes every process, and refuses commands from then on. Returns true if that was so before. If the
/// processes cannot be frozen, they go on.
pub(crate) async fn pause(running: &Running) -> Result<bool, Status> {
    let running = running.clone();
    // The work ends even if the host cancels the call.
    finish(async move {
        let _turn = TURN.lock().await;
        if let Some(reason) = running.refusal() {
            return Err(Status::unavailable(reason));
        }
        if running.set_paused(true) {
            return Ok(true);
        }
        let frozen = match root() {
            Ok(root) => freeze(root, || running.is_closed()).await,
            Err(error) => Err(error),
        };
        let Err(error) = frozen else {
            return Ok(false);
        };
        thaw_all();
        running.set_paused(false);
        Err(Status::failed_precondition(format!(
            "cannot pause the processes: {error}"
        )))
    })
    .await
}

/// Thaws every process, and accepts commands again. Returns false if that was so before.
pub(crate) async fn unpause(running: &Running) -> Result<bool, Status> {
    let running = running.clone();
    finish(async move {
        let _turn = TURN.lock().await;
        if !running.is_paused() {
            return Ok(false);
        }
        let thawed = root().and_then(thaw);
        thawed.map_err(|error| {
            Status::failed_precondition(format!("cannot continue the processes: {error}"))
        })?;
        Ok(running.set_paused(false))
    })
    .await
}

/// Thaws every process of a sandbox that is ending.
pub(crate) async fn end(running: &Running) {
    let _turn = TURN.lock().await;
    if running.set_paused(false) {
        thaw_all();
    }
}

async fn finish(
    work: impl Future<Output = Result<bool, Status>> + Send + 'static,
) -> Result<bool, Status> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|_| Err(Status::internal("the agent failed")))
}

fn root() -> Result<BorrowedFd<'static>, PauseError> {
    let groups = boot::commands_group().ok_or(PauseError::NoGroups)?;
    // The guest's root may have moved the agent into a group that is about to be frozen. `0` stands
    // for the process that writes.
    write(groups.root(), "cgroup.procs", b"0")?;
    Ok(groups.root())
}

fn thaw_all() {
    if let Err(error) = root().and_then(thaw) {
        console::log(&format!("cannot continue the processes: {error}"));
    }
}

/// Freezes every group below `root`, and waits until that is done.
async fn freeze(root: BorrowedFd<'_>, is_ending: impl Fn() -> bool) -> Result<(), PauseError> {
    let groups = groups(root)?;
    for group in &groups {
        write(group.as_fd(), "cgroup.freeze", b"1")?;
    }
    let deadline = Instant::now() + FREEZE_TIMEOUT;
    for group in &groups {
        while !is_frozen(group)? {
            if is_ending() {
                return Err(PauseError::Ending);
            }
            if Instant::now() >= deadline {
                return Err(PauseError::Late);
            }
            sleep(POLL_INTERVAL).await;
        }
    }
    Ok(())
}

/// Thaws every group below `root`.
fn thaw(root: BorrowedFd<'_>) -> Result<(), PauseError> {
    for group in &groups(root)? {
        write(group.as_fd(), "cgroup.freeze", b"0")?;
    }
    Ok(())
}

/// Opens the groups right below `root`.
fn groups(root: BorrowedFd<'_>) -> Result<Vec<OwnedFd>, PauseError> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut groups = Vec::new();
    let listed = openat(root, ".", flags, Mode::empty()).map_err(io::Error::from)?;
    for entry in Dir::new(listed).map_err(io::Error::from)? {
        let entry = entry.map_err(io::Error::from)?;
        let name = entry.file_name().to_bytes();
        if entry.file_type() != FileType::Directory || matches!(name, b"." | b"..") {
            continue;
        }
        if groups.len() == GROUPS_MAX {
            return Err(PauseError::TooMany);
        }
        match openat(root, entry.file_name(), flags, Mode::empty()) {
            Ok(group) => groups.push(group),
            // It was removed meanwhile.
            Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
    Ok(groups)
}

/// Returns true if all processes of a group are frozen.
fn is_frozen(group: &OwnedFd) -> Result<bool, PauseError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = match openat(group, "cgroup.events", flags, Mode::empty()) {
        Ok(file) => file,
        // The group was removed, as one without processes can be.
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NODEV) => return Ok(true),
        Err(error) => return Err(io::Error::from(error).into()),
    };
    let mut events = [0; EVENTS_MAX_BYTES];
    let length = rustix::io::read(&file, &mut events).map_err(io::Error::from)?;
    let mut lines = events[..length].split(|&byte| byte == b'\n');
    Ok(lines.any(|line| line == b"frozen 1"))
}

fn write(group: BorrowedFd<'_>, name: &str, bytes: &[u8]) -> Result<(), PauseError> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let opened = openat(group, name, flags, Mode::empty());
    match opened.and_then(|file| rustix::io::write(file, bytes)) {
        // The group was removed meanwhile.
        Ok(_) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::NODEV) => Ok(()),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Makes a group as the kernel shows it, whose processes are frozen or are not.
    fn group(root: &Path, name: &str, is_frozen: bool) {
        let directory = root.join(name);
        fs::create_dir(&directory).expect("made");
        fs::write(directory.join("cgroup.freeze"), "0").expect("written");
        let events = format!("populated 1\nfrozen {}\n", u8::from(is_frozen));
        fs::write(directory.join("cgroup.events"), events).expect("written");
    }

    fn open(root: &Path) -> OwnedFd {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        rustix::fs::open(root, flags, Mode::empty()).expect("opened")
    }

    fn frozen(root: &Path, name: &str) -> String {
        fs::read_to_string(root.join(name).join("cgroup.freeze")).expect("read")
    }

    #[tokio::test]
    async fn every_group_at_the_top_is_frozen_and_thawed() {
        let root = tempfile::tempdir().expect("a directory");
        fs::write(root.path().join("cgroup.procs"), "").expect("written");
        group(root.path(), "sandbox", true);
        group(root.path(), "docker", true);
        let opened = open(root.path());
        freeze(opened.as_fd(), || false).await.expect("frozen");
        assert_eq!(frozen(root.path(), "sandbox"), "1");
        assert_eq!(frozen(root.path(), "docker"), "1");
        thaw(opened.as_fd()).expect("thawed");
        assert_eq!(frozen(root.path(), "sandbox"), "0");
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_is_never_frozen_and_the_end_of_the_sandbox_are_not_waited_for() {
        let root = tempfile::tempdir().expect("a directory");
        group(root.path(), "sandbox", false);
        let opened = open(root.path());
        let late = freeze(opened.as_fd(), || false).await;
        assert!(matches!(late, Err(PauseError::Late)), "{late:?}");
        let ending = freeze(opened.as_fd(), || true).await;
        assert!(matches!(ending, Err(PauseError::Ending)), "{ending:?}");
    }

    #[tokio::test]
    async fn a_hierarchy_of_very_many_groups_is_refused() {
        let root = tempfile::tempdir().expect("a directory");
        for number in 0..=GROUPS_MAX {
            fs::create_dir(root.path().join(number.to_string())).expect("made");
        }
        let many = freeze(open(root.path()).as_fd(), || false).await;
        assert!(matches!(many, Err(PauseError::TooMany)), "{many:?}");
    }
}
