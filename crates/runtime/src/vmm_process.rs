//! The process that a machine runs in.
//!
//! It owns the machine, the sandbox's lock, the agent's port and the socket on which command line
//! and SDKs attach: see the keeper. Before the guest runs, it is confined: see the confinement.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use fs_err as fs;
use image_store::{FindError, Hold, OpenError, Store};
use msb_jail::{Jail, JailError, Layer, Strictness, renounce};
use msb_network::Settings;
use msb_vmm::{Machine, RunError, Sockets, Vmm};
use serde::{Deserialize, Serialize};

use crate::keeper::{self, Duties};
use crate::network_process::{self, NetworkProcessError, NetworkStartError};
use crate::sandbox::{Files, VmmCommand};
use crate::volumes::{self, HoldError, Use};
use crate::{Home, Mark, Timeline, TimelineError, confinement, share_process};

/// What the process is to do: the file `machine.json` in the sandbox's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Errand {
    pub(crate) machine: Machine,
    pub(crate) vmm: String,
    pub(crate) home: PathBuf,
    pub(crate) image_digest: String,
    /// Seconds since the epoch.
    pub(crate) started_s: u64,
    pub(crate) duties: Duties,
    /// What the process of its network is to do.
    #[serde(default)]
    pub(crate) network: Option<Settings>,
    /// The named volumes that the machine has.
    #[serde(default)]
    pub(crate) volumes: Vec<Use>,
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
    /// A volume is not free.
    #[error("cannot take the sandbox's volumes")]
    Volumes(#[from] HoldError),
    /// The guest would have no network.
    #[error("cannot start the sandbox's network")]
    Network(#[from] NetworkStartError),
    /// The jail of the network cannot be tried.
    #[error("cannot try the jail of the sandbox's network")]
    NetworkProbe(#[from] NetworkProcessError),
    /// The process is not confined, so no guest runs.
    #[error("cannot confine the virtual machine's process")]
    Jail(#[from] JailError),
    /// It cannot be noted how far the start is.
    #[error("cannot note how far the start is")]
    Timeline(#[from] TimelineError),
    /// The machine did not run, or did not end well.
    #[error("the virtual machine failed")]
    Run(#[from] RunError),
}

/// How to run the processes beside a machine's: each a program and arguments, the sandbox's directory after
/// them.
#[derive(Debug, Clone)]
pub struct Helpers {
    /// Calls [`serve_network`](crate::serve_network).
    pub network: VmmCommand,
    /// Calls [`serve_share`](crate::serve_share), with a share's number after the directory.
    pub share: VmmCommand,
}

/// Runs the machine described in `directory`. Standard input is the socket to listen on; standard
/// output is the sandbox's lock, which stays held while this process lives. `helpers` are the commands
/// of the processes beside this one. How far it is goes to `timeline`, until it is confined.
///
/// A VMM may end the process instead of returning.
///
/// # Errors
/// When the machine could not be started, or ended badly.
pub fn serve(
    directory: &Path,
    backends: &[&dyn Vmm],
    helpers: &Helpers,
    timeline: Timeline,
) -> Result<(), VmmProcessError> {
    timeline.mark(Mark::MachineProcessUp)?;
    let files = Files {
        directory: directory.to_owned(),
    };
    let errand = read_errand(&files)?;
    let vmm = find_vmm(&errand, backends)?;
    let strictness = errand.jail;
    fs::write(files.pid(), std::process::id().to_string()).map_err(io_error("write vmm.pid"))?;
    let _hold = hold(&errand)?;
    let _volumes = volumes::hold(&Home::new(&errand.home), &errand.volumes)?;
    let listener = inherited_listener().map_err(io_error("listen on the inherited socket"))?;
    let network = match errand.network {
        Some(_) => Some(network_process::start(directory, &helpers.network)?),
        None => None,
    };
    let shares = match vmm.serves_shares() {
        true => Vec::new(),
        false => share_process::start(&files, &errand, &helpers.share)
            .map_err(io_error("start the process of a shared directory"))?,
    };
    renounce(
        &confinement::limits(&errand.machine, vmm.serves_shares(), &errand.home)?,
        strictness,
    )?;
    let (host_end, guest_end) = UnixStream::pair().map_err(io_error("make the agent's port"))?;
    let jail = confinement::of_keeper(&files);
    let duties = errand.duties.clone();
    start_keeper(jail, strictness, move || {
        keep(listener, host_end, files, duties);
    })?;
    let (network, _network_end) = network.unzip();
    let sockets = Sockets {
        agent_port: guest_end.into(),
        network,
        shares,
    };
    timeline.mark(Mark::VmmEntered)?;
    // No guest is near a file that this process still has.
    drop(timeline);
    Ok(vmm.run(&errand.machine, sockets, strictness)?)
}

/// Starts the keeper's thread, and returns once it is confined.
fn start_keeper(
    jail: Jail,
    strictness: Strictness,
    keeper: impl FnOnce() + Send + 'static,
) -> Result<(), VmmProcessError> {
    let (confined, told) = mpsc::channel();
    let confine = move || {
        let report = jail.put_on(strictness);
        let is_confined = report.is_ok();
        // The other side waits for it.
        let _ = confined.send(report);
        if is_confined {
            keeper();
        }
    };
    std::thread::Builder::new()
        .name("keeper".to_owned())
        .spawn(confine)
        .map_err(io_error("start the keeper"))?;
    let gone = |_| io_error("start the keeper")(io::ErrorKind::BrokenPipe.into());
    let report = told.recv().map_err(gone)??;
    report.lacking().for_each(say);
    Ok(())
}

#[expect(clippy::print_stderr, reason = "standard error is this process's log")]
fn say(lacking: &Layer) {
    eprintln!("not wholly confined: {lacking}");
}

impl Errand {
    pub(crate) fn read(files: &Files) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(files.errand())?).map_err(Into::into)
    }
}

#[cfg(test)]
impl Errand {
    /// One to run this machine and nothing in it.
    pub(crate) fn of_tests(machine: Machine) -> Self {
        Self {
            machine,
            vmm: String::new(),
            home: PathBuf::new(),
            image_digest: String::new(),
            started_s: 0,
            duties: Duties {
                process: crate::Process::default(),
                attached: false,
                window: None,
                restart: crate::RestartPolicy::default(),
                lifetime: crate::Lifetime::default(),
                stop_signal: crate::StopSignal::default(),
            },
            network: None,
            volumes: Vec::new(),
            jail: Strictness::default(),
        }
    }
}

pub(crate) fn read_errand(files: &Files) -> Result<Errand, VmmProcessError> {
    Errand::read(files).map_err(io_error("read machine.json"))
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
fn keep(listener: UnixListener, port: UnixStream, files: Files, duties: Duties) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let served = runtime.and_then(|runtime| {
        runtime.block_on(async {
            port.set_nonblocking(true)?;
            let listener = tokio::net::UnixListener::from_std(listener)?;
            let port = tokio::net::UnixStream::from_std(port)?;
            keeper::keep(listener, port, files, duties).await
        })
    });
    if let Err(error) = served {
        eprintln!("msb: {error}");
    }
}

fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> VmmProcessError {
    move |source| VmmProcessError::Io { action, source }
}
