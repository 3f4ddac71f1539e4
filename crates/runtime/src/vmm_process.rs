//! The process that runs a machine.
//!
//! It owns the machine, the sandbox's lock, the agent's port and the socket on which the command
//! line and SDKs attach: see the module `keeper`. It is confined before the guest runs: see the
//! module `confinement`.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use fs_err as fs;
use image_store::{FindError, ImageLease, OpenError, Store};
use msb_jail::{Jail, JailError, Layer, Strictness, renounce};
use msb_network::Settings;
use msb_vmm::{Machine, RunError, Sockets, Vmm};
use serde::{Deserialize, Serialize};

use crate::keeper::{self, Duties, WatchedDisk};
use crate::network_process::{self, NetworkProcessError, NetworkStartError};
use crate::sandbox::{Files, MachineLock, VmmCommand};
use crate::volumes::{self, HoldError, Use};
use crate::{Home, Mark, Timeline, TimelineError, confinement, share_process};

/// The launch spec: the file `machine.json` in the sandbox's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Errand {
    pub(crate) machine: Machine,
    pub(crate) vmm: String,
    pub(crate) home: PathBuf,
    pub(crate) image_digest: String,
    /// Time of the start, in seconds since the epoch.
    pub(crate) started_s: u64,
    pub(crate) duties: Duties,
    /// The settings of the network process; `None` if the sandbox has no network.
    #[serde(default)]
    pub(crate) network: Option<Settings>,
    /// The machine's named volumes.
    #[serde(default)]
    pub(crate) volumes: Vec<Use>,
    /// The strictness of the process's confinement.
    #[serde(default)]
    pub(crate) jail: Strictness,
}

/// The VMM process could not run the machine.
#[derive(Debug, thiserror::Error)]
pub enum VmmProcessError {
    /// An operation of the host failed.
    #[error("cannot {action}")]
    Io {
        /// The failed operation, a verb and an object.
        action: &'static str,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// The store cannot be opened.
    #[error("cannot open the image store")]
    Store(#[from] OpenError),
    /// The image cannot be found in the store.
    #[error("cannot hold the image")]
    Image(#[from] FindError),
    /// This build has no VMM of this name.
    #[error("there is no VMM '{name}'")]
    UnknownVmm {
        /// The name in the launch spec.
        name: String,
    },
    /// A volume of the machine cannot be taken.
    #[error("cannot take the sandbox's volumes")]
    Volumes(#[from] HoldError),
    /// The network process could not be started.
    #[error("cannot start the sandbox's network")]
    Network(#[from] NetworkStartError),
    /// The network's jail cannot be tried.
    #[error("cannot try the jail of the sandbox's network")]
    NetworkProbe(#[from] NetworkProcessError),
    /// The process cannot be confined, so no guest runs.
    #[error("cannot confine the virtual machine's process")]
    Jail(#[from] JailError),
    /// The timeline of the start cannot be written.
    #[error("cannot note how far the start is")]
    Timeline(#[from] TimelineError),
    /// The machine did not run, or it failed.
    #[error("the virtual machine failed")]
    Run(#[from] RunError),
}

/// The commands that run the processes beside the VMM process.
/// Each has a program and its arguments, to which the sandbox's directory is added.
#[derive(Debug, Clone)]
pub struct Helpers {
    /// The command that calls [`serve_network`](crate::serve_network).
    pub network: VmmCommand,
    /// The command that calls [`serve_share`](crate::serve_share).
    /// The number of the share is added after the directory.
    pub share: VmmCommand,
}

/// Runs the machine described in `directory`.
/// Standard input is the socket to listen on. Standard output is the sandbox's lock, which stays
/// held while this process lives. `helpers` are the commands of the processes beside this one. The
/// stages of the start are written to `timeline` until the process is confined.
///
/// A VMM may end the process instead of returning.
///
/// # Errors
/// If the machine could not be started, or it failed.
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
    let _machine = MachineLock::take(&files).map_err(io_error("take the lock of the machine"))?;
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
            .map_err(io_error("start the process of a share"))?,
    };
    renounce(
        &confinement::limits(&errand.machine, vmm.serves_shares(), &errand.home)?,
        strictness,
    )?;
    let (host_end, guest_end) = UnixStream::pair().map_err(io_error("make the agent's port"))?;
    let jail = confinement::of_keeper(&files);
    let duties = errand.duties.clone();
    let disks = WatchedDisk::all(&errand.machine);
    start_keeper(jail, strictness, move || {
        keep(listener, host_end, files, disks, duties);
    })?;
    let (network, _network_end) = network.unzip();
    let sockets = Sockets {
        agent_port: guest_end.into(),
        network,
        shares,
    };
    timeline.mark(Mark::VmmEntered)?;
    // The file is closed before a guest can reach this process.
    drop(timeline);
    Ok(vmm.run(&errand.machine, sockets, strictness)?)
}

/// Starts the supervisor's thread, and returns once it is confined.
fn start_keeper(
    jail: Jail,
    strictness: Strictness,
    keeper: impl FnOnce() + Send + 'static,
) -> Result<(), VmmProcessError> {
    let (confined, told) = mpsc::channel();
    let confine = move || {
        let report = jail.put_on(strictness);
        let is_confined = report.is_ok();
        // The other thread waits for this report.
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
    report.lacking().for_each(say_lacking);
    Ok(())
}

fn say_lacking(lacking: &Layer) {
    keeper::say(&format!("not wholly confined: {lacking}"));
}

impl Errand {
    pub(crate) fn read(files: &Files) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(files.errand())?).map_err(Into::into)
    }
}

#[cfg(test)]
impl Errand {
    /// A launch spec for this machine, without a command.
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

/// Takes the image's lease, so that the image is not removed while this process lives.
fn hold(errand: &Errand) -> Result<ImageLease, VmmProcessError> {
    let store = Store::open(&errand.home)?;
    let image = store.find(&errand.image_digest)?;
    store.hold(&image).map_err(io_error("hold the image"))
}

fn inherited_listener() -> io::Result<UnixListener> {
    let listener = UnixListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Connects clients to the agent until the process ends.
fn keep(
    listener: UnixListener,
    port: UnixStream,
    files: Files,
    disks: Vec<WatchedDisk>,
    duties: Duties,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let served = runtime.and_then(|runtime| {
        runtime.block_on(async {
            port.set_nonblocking(true)?;
            let listener = tokio::net::UnixListener::from_std(listener)?;
            let port = tokio::net::UnixStream::from_std(port)?;
            keeper::keep(listener, port, files, disks, duties).await
        })
    });
    if let Err(error) = served {
        keeper::say(&error.to_string());
    }
}

fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> VmmProcessError {
    move |source| VmmProcessError::Io { action, source }
}
