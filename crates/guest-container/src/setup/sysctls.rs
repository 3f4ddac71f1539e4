use std::os::fd::OwnedFd;

use container_plan::Sysctl;
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io;

use crate::ContainerError;
use crate::error::step;

/// The kernel parameters, as the agent sees them. Those of a namespace are those of this process's.
const DIRECTORY: &str = "/proc/sys";

/// Writes the kernel parameters of a plan, in their order.
pub(super) fn write_all(sysctls: &[Sysctl]) -> Result<(), ContainerError> {
    if sysctls.is_empty() {
        return Ok(());
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = open(DIRECTORY, flags, Mode::empty()).map_err(step("open /proc/sys"))?;
    for Sysctl { name, value } in sysctls {
        write(&directory, name, value).map_err(step(format!("set the sysctl {name}")))?;
    }
    Ok(())
}

fn write(directory: &OwnedFd, name: &str, value: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let file = openat2(directory, path_of(name), flags, Mode::empty(), resolve)?;
    let written = io::write(file, value.as_bytes())?;
    if written == value.len() {
        Ok(())
    } else {
        Err(io::Errno::INVAL)
    }
}

/// Returns the path of a parameter: dots separate names, and a slash stands for a dot in one.
fn path_of(name: &str) -> String {
    let path = name.chars().map(|letter| match letter {
        '.' => '/',
        '/' => '.',
        letter => letter,
    });
    path.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_stands_for_a_dot_in_a_name() {
        assert_eq!(path_of("net.ipv4.ip_forward"), "net/ipv4/ip_forward");
        assert_eq!(
            path_of("net.ipv4.conf.eth0/1.forwarding"),
            "net/ipv4/conf/eth0.1/forwarding"
        );
    }
}
