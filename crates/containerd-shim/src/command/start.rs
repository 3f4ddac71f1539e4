//! `start`: finds the shim of the group, or starts one.

use std::env;
use std::fs::Permissions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use fs_err as fs;

use super::CommandError;
use super::address::{socket_path, to_address, to_path};
use super::answer::answer;
use super::arguments::Arguments;
use super::bootstrap::{Bootstrap, Variables};
use crate::Shim;
use crate::bundle::Membership;

/// The file in a bundle with the address of its shim, which containerd 1.6 and 1.7 read when they are restarted.
const ADDRESS_FILE: &str = "address";

/// Starts a shim for the bundle that is the working directory, unless the group has one. Returns the answer for
/// containerd.
pub(super) fn start(
    shim: &impl Shim,
    arguments: Arguments,
    input: &[u8],
) -> Result<Vec<u8>, CommandError> {
    let variables = Variables {
        ttrpc_address: env::var("TTRPC_ADDRESS").ok(),
        max_version: env::var("MAX_SHIM_VERSION").ok(),
    };
    let bootstrap = Bootstrap::new(&arguments, variables, input);
    let bundle = Path::new(".");
    let membership = Membership::read(bundle)?;
    let group = membership.group_id(&arguments.id).to_owned();
    let directory = &bootstrap.socket_directory;
    let socket = socket_path(directory, &arguments.address, &arguments.namespace, &group);
    if UnixStream::connect(&socket).is_err() {
        let listener = listen(&socket)?;
        let serve = Arguments {
            id: group,
            ttrpc_address: to_path(&bootstrap.ttrpc_address).display().to_string(),
            ..arguments
        };
        spawn(&serve, listener)?;
    }
    let address = to_address(&socket);
    write_address(bundle, &address).map_err(CommandError::io("write the address of the shim"))?;
    Ok(answer(bootstrap.form, &address, &shim.mounts()))
}

/// Listens at a socket that only its owner can connect to, in the place of a dead one.
fn listen(socket: &Path) -> Result<UnixListener, CommandError> {
    let listen = || {
        if let Some(directory) = socket.parent() {
            fs::create_dir_all(directory)?;
        }
        match fs::remove_file(socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(socket)?;
        fs::set_permissions(socket, Permissions::from_mode(0o600))?;
        Ok(listener)
    };
    listen().map_err(CommandError::io("listen at the socket of the shim"))
}

/// Starts the process that serves. Its standard input is the socket, and it has no output, for which containerd would
/// wait.
fn spawn(arguments: &Arguments, listener: UnixListener) -> Result<(), CommandError> {
    let program = env::current_exe().map_err(CommandError::io("find the program of the shim"))?;
    let mut command = Command::new(program);
    command.args(["-namespace", &arguments.namespace, "-id", &arguments.id]);
    command.args([
        "-address",
        &arguments.address,
        "-ttrpc-address",
        &arguments.ttrpc_address,
    ]);
    command.arg("serve");
    command.stdin(OwnedFd::from(listener));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // Signals to containerd's group do not reach it.
    command.process_group(0);
    command
        .spawn()
        .map_err(CommandError::io("start the process of the shim"))?;
    Ok(())
}

/// Writes the address into the bundle, complete or not at all.
fn write_address(bundle: &Path, address: &str) -> io::Result<()> {
    let unfinished = bundle.join(".address");
    fs::write(&unfinished, address)?;
    fs::rename(&unfinished, bundle.join(ADDRESS_FILE))
}
