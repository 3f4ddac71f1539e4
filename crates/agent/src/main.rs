//! The guest agent: PID 1 of every sandbox.
//!
//! It makes the sandbox's root of the image and the upper disk, then runs what the host asks for
//! until the host asks it to stop. Built static, packed alone into the boot disk.

mod boot;
mod console;
mod descriptor;
mod exec;
mod figures;
mod files;
mod guarded_file;
mod port;
mod reaper;
mod service;
mod shutdown;
mod trim;
mod uptime;

fn main() {
    let started_us = uptime::now_us();
    read_ahead();
    match run(started_us) {
        Ok(()) => {}
        Err(error) => console::say(&console::chain(&error)),
    }
    // PID 1 must not return: the kernel would panic.
    shutdown::power_off()
}

/// Has the kernel read the whole of this program at once, while it runs: it would read piece by piece as it
/// comes to each, and wait.
fn read_ahead() {
    use rustix::fs::{Advice, Mode, OFlags, fadvise, open};
    let program = open("/init", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    // It runs without, too.
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
