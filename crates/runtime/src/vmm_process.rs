//! The process that a machine runs in.
//!
//! It owns the machine, the sandbox's lock, the agent's port and the socket on which command line
//! and SDKs attach: see the switchboard. Before the guest runs, it is confined: see the confinement.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use fs_err as fs;
use image_store::{FindError, Hold, OpenError, Store};
use msb_jail::{Jail, JailError, Layer, Strictness, renounce};
use msb_vmm::{Machine, RunError, Vmm};
use serde::{Deserialize, Serialize};

use crate::confinement;
use crate::first_command::FirstCommand;
use crate::sandbox::Files;
use crate::switchboard::{Life, join_clients};

/// What the process is to do: the file `machine.json` in the sandbox's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Errand {
    pub(crate) machine: Machine,
    pub(crate) vmm: String,
    pub(crate) home: PathBuf,
    pub(crate) image_digest: String,
    pub(crate) end_with_owner: bool,
    /// What it lives for, where that is nobody who is connected.
    #[serde(default)]
    pub(crate) first_command: Option<FirstCommand>,
    /// How strictly the process is confined.
    #[serde(default)]
    pub(crate) jail: Strictness,
}

/// Why the process could not do it.
#[derive(Debug, thiserror::Error)]
pub enum VmmProcessError {
    /// The host side failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The store cannot be opened.
    #[error("cannot open the image store")]
    Store(#[from] OpenError),
    /// The image is gone.
    #[error("cannot hold the image")]
    Image(#[from] FindError),
    /// This build has no such VMM.
    #[error("there is no VMM '{name}'")]
    UnknownVmm {
        /// The name in the errand.
        name: String,
    },
    /// The process is not confined, so no guest runs.
    #[error("cannot confine the virtual machine's process")]
    Jail(#[from] JailError),
    /// The machine did not run, or did not end well.
    #[error("the virtual machine failed")]
    Run(#[from] RunError),
}

/// Runs the machine described in `directory`. Standard input is the socket to listen on; standard
/// output is the sandbox's lock, which stays held while this process lives.
///
/// A VMM may end the process instead of returning.
///
/// # Errors
/// When the machine could not be started, or ended badly.
pub fn serve(directory: &Path, backends: &[&dyn Vmm]) -> Result<(), VmmProcessError> {
    let files = Files {
        directory: directory.to_owned(),
    };
    let errand = read_errand(&files)?;
    let vmm = find_vmm(&errand, backends)?;
    let strictness = errand.jail;
    fs::write(files.pid(), std::process::id().to_string()).map_err(io_error("write vmm.pid"))?;
    let _hold = hold(&errand)?;
    let listener = inherited_listener().map_err(io_error("listen on the inherited socket"))?;
    renounce(
        &confinement::limits(&errand.machine, &errand.home)?,
        strictness,
    )?;
    let (host_end, guest_end) = UnixStream::pair().map_err(io_error("make the agent's port"))?;
    let jail = confinement::of_switchboard(&files);
    let life = Life {
        files,
        end_with_owner: errand.end_with_owner,
        first_command: errand.first_command.clone(),
    };
    start_switchboard(jail, strictness, move || {
        switchboard(listener, host_end, life)
    })?;
    Ok(vmm.run(&errand.machine, guest_end.into(), strictness)?)
}

/// Starts the switchboard's thread, and returns once it is confined.
fn start_switchboard(
    jail: Jail,
    strictness: Strictness,
    switchboard: impl FnOnce() + Send + 'static,
) -> Result<(), VmmProcessError> {
    let (confined, told) = mpsc::channel();
    let confine = move || {
        let report = jail.put_on(strictness);
        let is_confined = report.is_ok();
        // The other side waits for it.
        let _ = confined.send(report);
        if is_confined {
            switchboard();
        }
    };
    std::thread::Builder::new()
        .name("switchboard".to_owned())
        .spawn(confine)
        .map_err(io_error("start the switchboard"))?;
    let gone = |_| io_error("start the switchboard")(io::ErrorKind::BrokenPipe.into());
    let report = told.recv().map_err(gone)??;
    report.lacking().for_each(say);
    Ok(())
}

#[expect(clippy::print_stderr, reason = "standard error is this process's log")]
fn say(lacking: &Layer) {
    eprintln!("not wholly confined: {lacking}");
}

pub(crate) fn read_errand(files: &Files) -> Result<Errand, VmmProcessError> {
    let read = fs::read(files.errand());
    read.and_then(|bytes| serde_json::from_slice(&bytes).map_err(Into::into))
        .map_err(io_error("read machine.json"))
}

pub(crate) fn find_vmm<'a>(
    errand: &Errand,
    backends: &[&'a dyn Vmm],
) -> Result<&'a dyn Vmm, VmmProcessError> {
    let found = backends.iter().find(|vmm| vmm.name() == errand.vmm);
    found.copied().ok_or_else(|| VmmProcessError::UnknownVmm {
        name: errand.vmm.clone(),
    })
}

/// While this process lives, nobody removes the image.
fn hold(errand: &Errand) -> Result<Hold, VmmProcessError> {
    let store = Store::open(&errand.home)?;
    let image = store.find(&errand.image_digest)?;
    store.hold(&image).map_err(io_error("hold the image"))
}

fn inherited_listener() -> io::Result<UnixListener> {
    let listener = UnixListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Joins clients to the agent until the process ends.
#[expect(clippy::print_stderr, reason = "standard error is this process's log")]
fn switchboard(listener: UnixListener, port: UnixStream, life: Life) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let served = runtime.and_then(|runtime| {
        runtime.block_on(async {
            port.set_nonblocking(true)?;
            let listener = tokio::net::UnixListener::from_std(listener)?;
            let port = tokio::net::UnixStream::from_std(port)?;
            join_clients(listener, port, life).await
        })
    });
    if let Err(error) = served {
        eprintln!("switchboard: {error}");
    }
}

fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> VmmProcessError {
    move |source| VmmProcessError::Io { action, source }
}
