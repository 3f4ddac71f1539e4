//! A guest whose kernel has halted.
//!
//! The guest's kernel cannot switch the machine off: a program that asks for that, such as
//! `poweroff -f`, stops all processors, and the VMM runs on. Only the console has a sign of it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::time::Duration;

use tokio::time::sleep;

use super::Supervisor;
use crate::log::log_line;

/// The time between two looks at the length of the console's log. Clients hear of the end within
/// 2 s.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Length of the end of the log that is read, in bytes. The kernel prints nothing after its line.
const TAIL_BYTES: u64 = 256;
/// The kernel's lines, without their time: `LINUX_REBOOT_CMD_HALT` and `LINUX_REBOOT_CMD_POWER_OFF`
/// (kernel/reboot.c).
const HALTED: [&str; 2] = [
    "reboot: System halted",
    "reboot: Power off not available: System halted instead",
];

/// Ends the machine once its kernel has halted. Root in the guest can write such a line itself: it
/// may end its machine in other ways, too.
pub(super) async fn end_if_halted(supervisor: Supervisor, mut console: File) {
    let mut seen = 0;
    loop {
        sleep(LOOK_INTERVAL).await;
        match news(&mut console, &mut seen) {
            Ok(tail) if is_halted(&tail) => {
                log_line("the guest's kernel has halted: the machine is ended");
                supervisor.kill().await;
            }
            Ok(_) => {}
            Err(error) => {
                log_line(&format!("the console's log is no longer watched: {error}"));
                return;
            }
        }
    }
}

/// Returns the end of the console's log; nothing if its length is still `seen`.
fn news(console: &mut File, seen: &mut u64) -> io::Result<Vec<u8>> {
    let mut tail = Vec::new();
    let length = console.metadata()?.len();
    if length != *seen {
        // The confinement has no pread(2).
        console.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        console.take(TAIL_BYTES).read_to_end(&mut tail)?;
        *seen = length;
    }
    Ok(tail)
}

/// Returns true if the last line of a console is that of a halted kernel.
fn is_halted(console: &[u8]) -> bool {
    let text = String::from_utf8_lossy(console);
    let last = text.trim_end().rsplit(['\n', '\r']).next();
    let Some((time, message)) = last.and_then(|line| line.split_once("] ")) else {
        return false;
    };
    let is_time = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'[' | b' ' | b'.');
    time.bytes().all(is_time) && HALTED.contains(&message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_halted_kernel_is_known_by_its_last_line() {
        let halted: [&[u8]; 3] = [
            b"[    8.972856] reboot: Power off not available: System halted instead\r\n",
            b"x\r\n[   18.97] reboot: System halted\n",
            b"cut: \xff\n[  1.0] reboot: System halted",
        ];
        for console in halted {
            assert!(is_halted(console), "{}", String::from_utf8_lossy(console));
        }
        let running: [&[u8]; 5] = [
            b"",
            b"reboot: System halted\n",
            b"[ 1.0] app: reboot: System halted\n",
            b"[msb 1.0] reboot: System halted\n",
            b"[ 1.0] reboot: System halted\n[ 1.1] more\n",
        ];
        for console in running {
            assert!(!is_halted(console), "{}", String::from_utf8_lossy(console));
        }
    }
}
