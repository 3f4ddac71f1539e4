//! `/etc/hosts`, `/etc/hostname` and `/etc/resolv.conf` of a guest. A guest without a network has
//! them only if the user named it or added hosts. The files are mounted over the image's own, so
//! neither the image nor the upper disk contains them.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::mount_bind;

use super::mount_request;
use super::network::Network;
use super::root_kind::RootKind;
use crate::guarded_file::read_regular;

/// The directory of the files, in a tmpfs.
const DIRECTORY: &str = "/run/msb/etc";
/// The hosts that the sandbox was created with, on the upper disk beside the root's directory.
const ADDED_HOSTS: &str = "/run/msb/upper/hosts";
/// The limit of `ADDED_HOSTS`, in bytes; the rest is ignored.
const ADDED_MAX_BYTES: u64 = 1 << 20;
/// The guest's name for the host's loopback interface.
const HOST_NAME: &str = "host.msb.internal";

/// The guest's host name.
pub(super) struct Name<'a> {
    pub(super) name: &'a str,
    /// True if the user gave the name.
    pub(super) is_given: bool,
}

/// Writes the files and mounts them in `/etc`. Without a network, `/etc/hosts` is mounted if hosts
/// were added or the user named the guest, and `/etc/hostname` if the user named the guest. A path
/// that the user mounts something at is left alone.
pub(super) fn mount(name: &Name<'_>, network: Option<&Network>) -> io::Result<()> {
    let added = added_hosts()?;
    let mut files = Vec::new();
    if network.is_some() || name.is_given || !added.is_empty() {
        files.push(("hosts", [hosts(name.name, network), added].concat()));
    }
    if network.is_some() || name.is_given {
        files.push(("hostname", format!("{}\n", name.name).into_bytes()));
    }
    if let Some(network) = network {
        let resolver = format!("nameserver {}\n", network.gateway);
        files.push(("resolv.conf", resolver.into_bytes()));
    }
    if files.is_empty() {
        return Ok(());
    }
    fs::create_dir(DIRECTORY)?;
    for (file, content) in files {
        let source = format!("{DIRECTORY}/{file}");
        fs::write(&source, content)?;
        let path = Path::new("/etc").join(file);
        if mount_request::has_target(&path) {
            continue;
        }
        let target = target(&path)?;
        mount_bind(source, format!("/proc/self/fd/{}", target.as_raw_fd()))?;
    }
    Ok(())
}

fn hosts(name: &str, network: Option<&Network>) -> Vec<u8> {
    let mut hosts = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n".to_owned();
    let names = names(name);
    hosts += &match network {
        Some(network) => format!(
            "{}\t{names}\n{}\t{HOST_NAME}\n",
            network.address, network.gateway
        ),
        None => format!("127.0.0.1\t{names}\n"),
    };
    hosts.into_bytes()
}

/// Returns a name, followed by its first label if it has several.
fn names(name: &str) -> String {
    match name.split_once('.') {
        Some((first, _)) => format!("{name} {first}"),
        None => name.to_owned(),
    }
}

/// Returns the lines that the user adds to `/etc/hosts`; empty if there are none. They are written
/// when the upper disk is made.
fn added_hosts() -> io::Result<Vec<u8>> {
    // The path is one of the root itself then.
    if matches!(RootKind::from_host(), RootKind::Disk(_)) {
        return Ok(Vec::new());
    }
    match read_regular(ADDED_HOSTS, ADDED_MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// Opens the file to mount over, and makes an empty one if the image has none.
fn target(path: &Path) -> io::Result<OwnedFd> {
    // `O_PATH` opens no file for writing, so the overlay does not copy it up.
    let look_up = || open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    match look_up() {
        Err(Errno::NOENT) => {
            make(path)?;
            Ok(look_up()?)
        }
        outcome => Ok(outcome?),
    }
}

fn make(path: &Path) -> io::Result<()> {
    // In an image the path may be a dangling symlink, whose target some program would create.
    let linked = fs::read_link(path).ok();
    let directory = path.parent().unwrap_or(path);
    let path = linked.map_or_else(|| path.to_owned(), |link| directory.join(link));
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::File::create(path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_short_name_too() {
        let hosts = String::from_utf8(hosts("web.example.com", None)).expect("text");
        assert!(
            hosts.ends_with("\n127.0.0.1\tweb.example.com web\n"),
            "{hosts}"
        );
        assert_eq!(names("web"), "web");
    }
}
