//! Settings of the guest's kernel, files below `/proc/sys`: those that images expect of a host of docker,
//! and those that the user asks for.

use std::io;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use super::{BootError, guest_settings};
use crate::console;

const DIRECTORY: &str = "/proc/sys";

/// Settings of every sandbox. `vm.overcommit_memory` stays 0, as on hosts of docker.
const OF_EVERY_SANDBOX: [(&str, &str); 10] = [
    // docker lets every user listen on ports below 1024, and images with `USER` rely on it.
    ("net.ipv4.ip_unprivileged_port_start", "0"),
    // docker lets every user send pings.
    ("net.ipv4.ping_group_range", "0 2147483647"),
    // Elasticsearch and others refuse less than 262144; distributions set this value.
    ("vm.max_map_count", "1048576"),
    // The kernel derives it from the memory, and a small guest gets 8192: too few for a watched source tree.
    ("fs.inotify.max_user_watches", "524288"),
    // 128 are too few for several programs that watch files.
    ("fs.inotify.max_user_instances", "1024"),
    // The kernel derives it from the memory; systemd lifts it on hosts, and `--ulimit` limits processes.
    ("fs.file-max", "9223372036854775807"),
    // The kernel's default is for few processors; systemd sets the second value on hosts. A small kernel
    // (`BASE_SMALL`, as libkrunfw's is) takes the first one at most.
    ("kernel.pid_max", "32768"),
    ("kernel.pid_max", "4194304"),
    // Distributions protect users from links in directories that all may write to.
    ("fs.protected_hardlinks", "1"),
    ("fs.protected_symlinks", "1"),
];

/// Sets everything. A setting of every sandbox that the kernel does not have, or bounds lower, is left out.
///
/// # Errors
/// If a setting of the user cannot be set.
pub(super) fn set_all() -> Result<(), BootError> {
    for (name, value) in OF_EVERY_SANDBOX {
        let Err(error) = set(name, value) else {
            continue;
        };
        if !matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::InvalidInput
        ) {
            console::log(&format!("cannot set {name}: {error}"));
        }
    }
    for (name, value) in guest_settings::current().sysctls.iter() {
        set(name, value).map_err(|error| refused(name, error))?;
    }
    Ok(())
}

fn refused(name: &str, source: io::Error) -> BootError {
    let name = name.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
            BootError::NoSetting { name }
        }
        _ => BootError::Setting { name, source },
    }
}

/// Returns the path of a setting. A slash in its name is a dot in that of a file.
fn path(name: &str) -> String {
    let swapped = name.chars().map(|letter| match letter {
        '.' => '/',
        '/' => '.',
        other => other,
    });
    format!("{DIRECTORY}/{}", swapped.collect::<String>())
}

fn set(name: &str, value: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(CWD, path(name), flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::ErrorKind::NotFound.into());
    }
    // The kernel takes a value in one piece.
    rustix::io::write(&file, format!("{value}\n").as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_is_a_dot_of_a_files_name() {
        assert_eq!(
            path("net.ipv4.conf.eth0/1.forwarding"),
            "/proc/sys/net/ipv4/conf/eth0.1/forwarding"
        );
    }

    #[test]
    fn what_the_kernel_does_not_have_is_refused_by_name() {
        let error = |name: &str| {
            let error = set(name, "1").map_err(|source| refused(name, source));
            error.expect_err("refused").to_string()
        };
        for missing in ["net.core.no_such_setting", "net.core"] {
            let message = error(missing);
            assert!(
                message.contains("has no setting") && message.contains(missing),
                "{message}"
            );
        }
    }
}
