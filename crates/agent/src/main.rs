//! The guest agent, PID 1 of every sandbox.
//!
//! It makes the sandbox's root of the image and the upper disk, then runs the host's commands until
//! the host shuts the sandbox down. It is built static, and is the only program on the boot disk.

use std::path::Path;
use std::process::ExitCode;

mod boot;
mod clock;
mod console;
mod containers;
mod descriptor;
mod disk_failures;
mod exec;
mod figures;
mod files;
mod freeze;
mod guarded_file;
mod init;
mod pause;
mod port;
mod questions;
mod reaper;
mod remount;
mod service;
mod sftp;
mod shutdown;
mod sockets;
mod trim;
mod unmount;
mod uptime;

/// The timeout for writing the last lines of a machine.
const LAST_WORDS_TIME: std::time::Duration = std::time::Duration::from_millis(200);

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    if name == init::NAME {
        return init::run(arguments);
    }
    if Path::new(&name).file_name() == Some(questions::NAME.as_ref()) {
        return questions::run(arguments);
    }
    if name == guest_container::PROGRAM_NAME {
        return containers::run(arguments);
    }
    if name == sftp::NAME {
        return sftp::run();
    }
    let started_us = uptime::now_us();
    read_ahead();
    match run(started_us) {
        Ok(()) => {}
        Err(error) => {
            console::log(&console::chain(&error));
            // What was said may still be on its way to the host's log.
            std::thread::sleep(LAST_WORDS_TIME);
        }
    }
    // PID 1 must not return: the kernel would panic.
    shutdown::power_off()
}

/// Makes the kernel read the whole program at once, in the background. Otherwise it would read each
/// page when it is first used, and wait each time.
fn read_ahead() {
    use rustix::fs::{Advice, Mode, OFlags, fadvise, open};
    let program = open("/init", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    // The program runs without it, too.
    let _ = program.and_then(|program| fadvise(&program, 0, None, Advice::WillNeed));
}

fn run(started_us: u64) -> Result<(), boot::BootError> {
    boot::boot()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| boot::BootError::Io {
            action: "start the event loop".to_owned(),
            source,
        })?;
    let boot_times = service::BootTimes {
        started_us,
        mounts_done_us: uptime::now_us(),
    };
    runtime
        .block_on(port::serve(boot_times))
        .map_err(|source| boot::BootError::Io {
            action: "serve the host".to_owned(),
            source,
        })
}
