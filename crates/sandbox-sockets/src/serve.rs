//! The process `msb __sockets`.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use fs_err as fs;
use msb_agent_protocol::Client;
use msb_jail::{Access, Calls, Jail, Limits, renounce};
use msb_runtime::{LaunchSpec, SandboxPaths};
use tokio::task::JoinSet;

use crate::door::{Door, agent_path};
use crate::forward::Forward;
use crate::log::Log;
use crate::{SocketsError, host};

/// The resources of the process. A connection takes two open files and less than 1 MiB.
const LIMITS: Limits = Limits {
    open_files: Some(2048),
    file_bytes: Some(1 << 30),
    data_bytes: Some(256 << 20),
    // The socket may be that of the user on whose behalf root runs msb.
    any_owner: true,
};
/// The byte that says that programs can connect.
const READY: [u8; 1] = [b'.'];

/// Forwards the sockets of the sandbox in `directory`. Standard input is the connection with the supervisor, and a byte
/// on standard output says that the guest listens. Returns when the machine has ended.
///
/// # Errors
/// If a socket of the host cannot be forwarded, or the guest cannot listen.
pub fn serve(directory: &Path) -> Result<(), SocketsError> {
    let files = SandboxPaths {
        directory: directory.to_owned(),
    };
    let launch_spec = LaunchSpec::read_to_run(&files)?;
    let doors = Door::all(&launch_spec.supervisor.guest, agent_path())?;
    doors.iter().try_for_each(|door| host::check(&door.host))?;
    let supervisor = io::stdin().as_fd().try_clone_to_owned();
    let supervisor = UnixStream::from(supervisor.map_err(io_error("use standard input"))?);
    let ready = take_stdout().map_err(io_error("use standard output"))?;
    renounce(&LIMITS, launch_spec.jail)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(io_error("start the event loop"))?;
    jail(&doors).put_on(launch_spec.jail)?;
    runtime.block_on(forward(doors, supervisor, ready))
}

/// Returns the rights that the process keeps. Directories, because a server makes its socket anew when it starts again.
fn jail(doors: &[Door]) -> Jail {
    let real = doors
        .iter()
        .filter_map(|door| fs::canonicalize(&door.host).ok());
    let directories = real.filter_map(|path| Some(path.parent()?.to_owned()));
    directories.fold(Jail::new(Calls::Sockets), |jail, directory| {
        jail.with(directory, Access::Connect)
    })
}

async fn forward(
    doors: Vec<Door>,
    supervisor: UnixStream,
    mut ready: File,
) -> Result<(), SocketsError> {
    let connecting = io_error("connect to the machine's process");
    supervisor.set_nonblocking(true).map_err(&connecting)?;
    let supervisor = tokio::net::UnixStream::from_std(supervisor).map_err(&connecting)?;
    let client = Client::connect_without_limit(supervisor).await;
    let client = client.map_err(|error| connecting(io::Error::other(error)))?;
    let log = Log::new(stderr().map_err(io_error("use standard error"))?);
    let mut forwards = JoinSet::new();
    for door in doors {
        let (forward, accepts) = Forward::open(client.clone(), door, log.clone()).await?;
        forwards.spawn(forward.run(accepts));
    }
    let told = ready.write_all(&READY);
    told.map_err(io_error("say that programs can connect"))?;
    while forwards.join_next().await.is_some() {}
    Ok(())
}

/// Takes the pipe on standard output, where nothing is printed from then on.
fn take_stdout() -> io::Result<File> {
    let pipe = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdout(fs::File::open("/dev/null")?)?;
    Ok(pipe)
}

/// Returns the machine's log, which standard error is.
fn stderr() -> io::Result<File> {
    Ok(File::from(io::stderr().as_fd().try_clone_to_owned()?))
}

fn io_error(action: &'static str) -> impl Fn(io::Error) -> SocketsError {
    move |source| SocketsError::Io { action, source }
}
