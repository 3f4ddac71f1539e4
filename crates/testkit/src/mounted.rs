use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// How often it is tried, and how long to wait in between.
const ATTEMPTS: u32 = 250;
const WAIT: Duration = Duration::from_millis(20);

/// Unmounts what a test has mounted; whether that went well. Tries for a while: a process that another
/// test is just starting has every descriptor for an instant.
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
