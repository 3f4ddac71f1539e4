//! `/etc/hosts`, `/etc/hostname` and `/etc/resolv.conf` of a guest with a network. They are mounted
//! over the image's own, so that neither the image nor the upper has them.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::mount_bind;

use super::network::Network;

/// Where the files are, in a tmpfs.
const DIRECTORY: &str = "/run/msb/etc";
/// What the guest calls the host's loopback.
const HOST_NAME: &str = "host.msb.internal";

/// Writes the files and shows them in `/etc`.
pub(super) fn mount(name: &str, network: &Network) -> io::Result<()> {
    let hosts = format!(
        "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n{}\t{name}\n{}\t{HOST_NAME}\n",
        network.address, network.gateway
    );
    let files = [
        ("hosts", hosts),
        ("hostname", format!("{name}\n")),
        ("resolv.conf", format!("nameserver {}\n", network.gateway)),
    ];
    fs::create_dir(DIRECTORY)?;
    for (file, content) in files {
        let source = format!("{DIRECTORY}/{file}");
        fs::write(&source, content)?;
        let target = target(&Path::new("/etc").join(file))?;
        mount_bind(source, format!("/proc/self/fd/{}", target.as_raw_fd()))?;
    }
    Ok(())
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
