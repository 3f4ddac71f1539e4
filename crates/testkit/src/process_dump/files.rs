//! Devices, and the files that a runtime makes.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use super::ProcessDump;

/// Files and directories that a runtime makes or changes, if they exist.
const FILES: [&str; 18] = [
    "/",
    "/.dockerenv",
    "/dev",
    "/etc",
    "/etc/group",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/localtime",
    "/etc/mtab",
    "/etc/passwd",
    "/etc/resolv.conf",
    "/proc",
    "/run",
    "/sys",
    "/tmp",
    "/var/lock",
    "/var/run",
    "/var/tmp",
];
/// Directories whose entries are told, because runtimes put some there or hide them.
const LISTED: [&str; 5] = ["/", "/run", "/run/lock", "/tmp", "/var/tmp"];

pub(super) fn read(dump: &mut ProcessDump) {
    for path in FILES {
        dump.set_read(format!("file.{path}"), described(Path::new(path), false));
    }
    for path in LISTED {
        dump.set_read(format!("entries.{path}"), entries(Path::new(path)));
    }
    hosts(dump);
    devices(dump, Path::new("/dev"));
    dump.set_read("network.interfaces", entries(Path::new("/sys/class/net")));
    dump.set_read("control_groups", entries(Path::new("/sys/fs/cgroup")));
}

/// Returns a file's type, mode and owner; for a device its numbers, for a link its target.
pub(super) fn described(path: &Path, follows: bool) -> io::Result<String> {
    let metadata = if follows {
        fs::metadata(path)?
    } else {
        fs::symlink_metadata(path)?
    };
    let kind = metadata.file_type();
    let (mode, owner) = (metadata.mode() & 0o7777, (metadata.uid(), metadata.gid()));
    let numbers = || {
        let device = metadata.rdev();
        // What glibc's gnu_dev_major and gnu_dev_minor compute, for the devices that there are.
        format!("{}:{}", device >> 8 & 0xfff, device & 0xff)
    };
    let what = if kind.is_symlink() {
        return Ok(format!("link to {}", fs::read_link(path)?.display()));
    } else if kind.is_char_device() {
        // Each terminal has another number.
        match numbers() {
            pts if pts.starts_with("136:") => "terminal".to_owned(),
            numbers => format!("character device {numbers}"),
        }
    } else if kind.is_block_device() {
        format!("block device {}", numbers())
    } else if kind.is_dir() {
        "directory".to_owned()
    } else if kind.is_fifo() {
        "pipe".to_owned()
    } else if kind.is_socket() {
        "socket".to_owned()
    } else {
        "file".to_owned()
    };
    Ok(format!("{what} {mode:04o} {}:{}", owner.0, owner.1))
}

/// Returns the names in a directory, sorted.
fn entries(path: &Path) -> io::Result<String> {
    let names =
        fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names.join(" "))
}

/// Adds the meaning of the files about names. Each has the host's name where that stands in it.
fn hosts(dump: &mut ProcessDump) {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    let is_id = name.len() == 12 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    dump.set(
        "host.name",
        if is_id { "12 hexadecimal digits" } else { name },
    );
    let file = fs::read_to_string("/etc/hostname");
    dump.set_read("host.file", file.map(|file| file.replace(name, "NAME")));
    let text = fs::read_to_string("/etc/hosts").unwrap_or_default();
    for (number, line) in text.lines().enumerate() {
        let line = super::words(line).replace(name, "NAME");
        dump.set(format!("host.hosts.{:02}", number + 1), line);
    }
    let text = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (keyword, value) = line.split_once(' ').unwrap_or((line, ""));
        dump.set(format!("host.resolver.{keyword}"), value);
    }
}

/// Adds the entries of a directory of devices and of those below it.
fn devices(dump: &mut ProcessDump, directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        // Each terminal has another name.
        if directory == Path::new("/dev/pts") && !path.ends_with("ptmx") {
            continue;
        }
        dump.set_read(
            format!("device.{}", path.display()),
            described(&path, false),
        );
        if path.is_dir() && !path.is_symlink() {
            devices(dump, &path);
        }
    }
}
