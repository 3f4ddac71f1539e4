use std::thread::sleep;
use std::time::Duration;

use rustix::fs::sync;
use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};
use rustix::system::{RebootCommand, reboot};

use crate::console;
use crate::unmount::RELEASE_TIMEOUT;

/// The default time that processes may take to end by themselves.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The time that the host may take to record the last answer and to end the machine.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(2);

/// Ends every process, by SIGTERM first and by SIGKILL at the deadline. Their output is passed on
/// meanwhile.
pub(crate) async fn end_processes(deadline: tokio::time::Instant) {
    signal_all(Signal::TERM);
    childless(deadline).await;
    kill_processes().await;
}

/// Ends every process by SIGKILL.
pub(crate) async fn kill_processes() {
    signal_all(Signal::KILL);
    childless(tokio::time::Instant::now() + RELEASE_TIMEOUT).await;
}

/// Waits until no other process is alive, or until the deadline.
async fn childless(deadline: tokio::time::Instant) {
    while has_children() && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns true if another process is alive or not yet reaped: all descend from PID 1.
fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

/// Sends a signal to every process except this one. The kernel's threads ignore it.
#[expect(unsafe_code, reason = "the call for all processes has no safe form")]
fn signal_all(signal: Signal) {
    // SAFETY: the call takes two numbers and touches no memory of this process. It fails if no
    // other process exists, which is no error here.
    unsafe { libc::kill(-1, signal.as_raw()) };
}

/// Ends the machine if the host has its answer and does nothing more.
pub(crate) async fn power_off_after_answer() {
    tokio::time::sleep(FAREWELL_TIMEOUT).await;
    power_off();
}

/// Ends the machine, after a last sync. Reports a failure on the console.
pub(crate) fn power_off() -> ! {
    sync();
    if let Err(error) = reboot(RebootCommand::Restart) {
        console::log(&format!("cannot power off: {error}"));
    }
    // Only a machine without a working reset reaches this line.
    loop {
        sleep(Duration::from_secs(1));
    }
}
