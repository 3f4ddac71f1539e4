use std::path::Path;
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
