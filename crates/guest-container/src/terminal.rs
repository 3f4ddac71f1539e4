//! The terminal of a process, from the container's own devpts: programs find it by its name there.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use container_plan::TerminalSize;
use rustix::fs::{Mode, OFlags, ResolveFlags, fchown, openat2};
use rustix::mount::mount_bind;
use rustix::process::{Uid, ioctl_tiocsctty};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::ContainerError;
use crate::error::step;
use crate::point::{descriptor_path, file_point};

/// The master of a new terminal, and its other end.
struct Pair {
    master: OwnedFd,
    slave: OwnedFd,
}

/// Opens a terminal in the root that this process has, and makes it the process's own: its streams, and its session's
/// terminal. Returns the master, for the agent.
///
/// # Errors
/// If the container has no `/dev/pts`.
pub(crate) fn open_terminal(uid: u32, size: TerminalSize) -> Result<OwnedFd, ContainerError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open("/", flags, Mode::empty()).map_err(step("open the root"))?;
    let pair = open(&root, uid, size).map_err(step("open a terminal in /dev/pts"))?;
    take(&pair).map_err(step("take the terminal"))?;
    Ok(pair.master)
}

/// Opens a terminal as [`open_terminal`] does, in a root that this process does not have yet, and shows it as
/// `/dev/console` there.
///
/// # Errors
/// If the container has no `/dev/pts`.
pub(crate) fn open_terminal_in(
    root: &OwnedFd,
    uid: u32,
    size: TerminalSize,
) -> Result<OwnedFd, ContainerError> {
    let pair = open(root, uid, size).map_err(step("open a terminal in /dev/pts"))?;
    let console = file_point(root, Path::new("/dev/console"));
    let console = console.map_err(step("make /dev/console"))?;
    mount_bind(descriptor_path(&pair.slave), descriptor_path(&console))
        .map_err(step("mount the terminal on /dev/console"))?;
    take(&pair).map_err(step("take the terminal"))?;
    Ok(pair.master)
}

fn open(root: &OwnedFd, uid: u32, size: TerminalSize) -> io::Result<Pair> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    // An image's symlink at this path would be followed inside the root, to no terminal.
    let master = openat2(
        root,
        "dev/pts/ptmx",
        flags,
        Mode::empty(),
        ResolveFlags::IN_ROOT,
    )?;
    unlockpt(&master)?;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    fchown(&slave, Some(Uid::from_raw(uid)), None)?;
    if size.columns > 0 || size.rows > 0 {
        tcsetwinsize(&slave, winsize(size))?;
    }
    Ok(Pair { master, slave })
}

fn take(pair: &Pair) -> io::Result<()> {
    dup2_stdin(&pair.slave)?;
    dup2_stdout(&pair.slave)?;
    dup2_stderr(&pair.slave)?;
    // The process leads a session without a terminal.
    Ok(ioctl_tiocsctty(&pair.slave)?)
}

fn winsize(size: TerminalSize) -> Winsize {
    let cells = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
    Winsize {
        ws_row: cells(size.rows),
        ws_col: cells(size.columns),
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
