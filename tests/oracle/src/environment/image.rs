//! The image of the comparison.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use fs_err as fs;
use test_fixtures::command::quiet;
use test_fixtures::{DockerDaemon, build, images};

/// The image's name under docker and under msb.
pub(super) const IMAGE: &str = "localhost/environment:latest";
/// The command. GNU `env` prints the signals that it was started with; a program in Rust cannot, because
/// Rust's runtime changes one before `main`.
pub(super) const COMMAND: [&str; 3] = ["env", "--list-signal-handling", "/process-dump"];
/// The command of the container in which `exec` starts others.
pub(super) const HOLDER: [&str; 2] = ["sleep", "1000"];

/// Files of Debian that the image has, beside those that every shell needs.
const MORE: [&str; 6] = [
    "./run",
    "./usr/bin/env",
    "./usr/bin/rm",
    "./var/lock",
    "./var/run",
    "./var/tmp",
];
/// Files that the image's author made. Runtimes must neither hide nor change them.
const OWN: &str = "set -e; mkdir -p run/service run/lock tmp/staged var/tmp root; chown 33:33 run/service; \
    chmod 0710 run/service; chmod 1777 tmp var/tmp run/lock; chmod 0700 root; echo staged > tmp/staged/file; \
    echo kept > var/tmp/kept; cp etc/group group; \
    sed -i 's/^games:.*/&www-data/' group; cat group > etc/group; rm group";
const CONFIG: [&str; 4] = [
    "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "ENV LANG=C.UTF-8",
    "ENV EMPTY=",
    "WORKDIR /srv/made/by-the-runtime",
];

/// Makes the image in the docker daemon, and returns an archive that docker saved of it.
pub(super) fn build(daemon: &DockerDaemon, work: &Path) -> Result<PathBuf> {
    let program = build::process_dump()?;
    let tree = images::base_tree()?;
    let root = work.join("image");
    fs::create_dir(&root)?;
    let pipe = "tar -C \"$0\" -c \"$@\" | tar -x";
    let mut copy = Command::new("sh");
    copy.args(["-c", pipe]).arg(tree).args(images::BARE_PATHS);
    quiet(copy.args(MORE).current_dir(&root))?;
    quiet(Command::new("sh").args(["-c", OWN]).current_dir(&root))?;
    let copied = root.join("process-dump");
    fs::copy(program, &copied)?;
    fs::set_permissions(&copied, Permissions::from_mode(0o755))?;
    let files = work.join("files.tar");
    let mut tar = Command::new("tar");
    quiet(tar.arg("-C").arg(&root).arg("-cf").arg(&files).arg("."))?;
    let archive = work.join("image.tar");
    daemon.build(&files, &CONFIG, IMAGE, &archive)?;
    Ok(archive)
}
