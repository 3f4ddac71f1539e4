//! `/etc/hosts`, `/etc/hostname` and `/etc/resolv.conf` of a guest with a network, or with names of
//! its own. They are mounted over the image's own, so that neither the image nor the upper has them.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::mount_bind;

use super::network::Network;
use crate::guarded_file::read_regular;

/// Where the files are, in a tmpfs.
const DIRECTORY: &str = "/run/msb/etc";
/// Names that the sandbox was created with, on the upper disk beside what the overlay uses of it.
const ADDED_HOSTS: &str = "/run/msb/upper/hosts";
/// How much of them is read.
const ADDED_MAX_BYTES: u64 = 1 << 20;
/// What the guest calls the host's loopback.
const HOST_NAME: &str = "host.msb.internal";

/// What the guest calls itself.
pub(super) struct Name<'a> {
    pub(super) name: &'a str,
    /// Whether the user gave it.
    pub(super) is_given: bool,
}

/// Writes the files and shows them in `/etc`. Without a network there is `/etc/hosts` where names were added
/// to it, and that and `/etc/hostname` where the user named the guest.
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
        let target = target(&Path::new("/etc").join(file))?;
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

/// A name, and its first part where it has several.
fn names(name: &str) -> String {
    match name.split_once('.') {
        Some((first, _)) => format!("{name} {first}"),
        None => name.to_owned(),
    }
}

/// Lines that the upper disk was made with.
fn added_hosts() -> io::Result<Vec<u8>> {
    match read_regular(ADDED_HOSTS, ADDED_MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// The file to mount over; an empty one is made where the image has none.
fn target(path: &Path) -> io::Result<OwnedFd> {
    // A file that is only looked up stays in the image.
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
    // An image may have a link to where some program would write the file.
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
