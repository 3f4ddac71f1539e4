//! The process that runs a machine.
//!
//! It owns the machine, the sandbox's lock, the agent's port and the socket on which the command
//! line and SDKs attach: see the module `supervisor`. It is confined before the guest runs: see the
//! module `confinement`.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use image_store::{FindError, ImageLease, OpenError, Store};
use msb_guest_trust::TrustFiles;
use msb_jail::{Jail, JailError, Layer, Strictness, renounce};
use msb_machine_records::{Mark, Timeline, TimelineError};
use msb_runtime::{
    Home, LaunchSpec, LaunchSpecError, MachineLock, SandboxPaths, SupervisorConfig, VmmCommand,
    VolumeLockError, lock_volumes,
};
use msb_vmm::{RunError, ServedDisk, Sockets, Vmm};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::disk_cut::{DiskOrders, disk_orders};
use crate::disk_server::{DiskServerError, OpenDisk};
use crate::image_disk::{ImageDisk, ImageDiskError};
use crate::log::log_line;
use crate::network_process::{self, NetworkProcess, NetworkProcessError, NetworkStartError};
use crate::share_process::StartedShares;
use crate::supervisor::{self, Watched, WatchedDisk};
use crate::{
    confinement, disk_server, image_disk, network_log, open_files, share_process, sockets_process,
};

/// The time in which a VMM that ends by itself ends this process.
const VMM_END_TIMEOUT: Duration = Duration::from_secs(5);
/// The time in which the last reports of the network's process are written once the machine has ended.
const NETWORK_LOG_TIMEOUT: Duration = Duration::from_secs(1);

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
    /// The launch spec cannot be run.
    #[error(transparent)]
    LaunchSpec(#[from] LaunchSpecError),
    /// The store cannot be opened.
    #[error("cannot open the image store")]
    Store(#[from] OpenError),
    /// The image cannot be found in the store.
    #[error("cannot lease the image")]
    Lease(#[from] FindError),
    /// This build has no VMM of this name.
    #[error("'{name}' is not a VMM of this build")]
    UnknownVmm {
        /// The name in the launch spec.
        name: String,
    },
    /// A volume of the machine cannot be taken.
    #[error("cannot lock the sandbox's volumes")]
    Volumes(#[from] VolumeLockError),
    /// The network process could not be started.
    #[error("cannot start the sandbox's network")]
    Network(#[from] NetworkStartError),
    /// The network's jail cannot be tried.
    #[error("cannot test the jail of the network process")]
    NetworkProbe(#[from] NetworkProcessError),
    /// The writable disk cannot be opened.
    #[error(transparent)]
    Disk(#[from] DiskServerError),
    /// The image's disk cannot be opened.
    #[error(transparent)]
    Image(#[from] ImageDiskError),
    /// The process cannot be confined, so no guest runs.
    #[error("cannot confine the virtual machine's process")]
    Jail(#[from] JailError),
    /// The timeline of the start cannot be written.
    #[error("cannot record the progress of the start")]
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
    /// The command that forwards sockets of the host.
    pub sockets: VmmCommand,
}

/// Runs the machine described in `directory`.
/// Standard input is the socket to listen on. Standard output is the sandbox's lock, which stays
/// held while this process or the VMM that it started lives. `helpers` are the commands that run the
/// network and the shares. The stages of the start are written to `timeline` until the process is
/// confined.
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
    let files = SandboxPaths {
        directory: directory.to_owned(),
    };
    let launch_spec = read_launch_spec(&files)?;
    let vmm = find_vmm(&launch_spec, backends)?;
    let strictness = launch_spec.jail;
    let _machine = MachineLock::take(&files).map_err(io_error("lock the machine"))?;
    let _lock = shared_lock().map_err(io_error("share the sandbox's lock"))?;
    let _hold = hold(&launch_spec)?;
    let _volumes = lock_volumes(&Home::new(&launch_spec.home), &launch_spec.volumes)?;
    let listener = inherited_listener().map_err(io_error("listen on the inherited socket"))?;
    let given = TrustFiles::read_given(directory);
    let given = given.map_err(io_error("read the files that the guest is given"))?;
    let network = match &launch_spec.network {
        Some(settings) => {
            let proxy = network_process::connection_of_proxy(&listener, settings)?;
            let started = network_process::start(&files, &helpers.network, proxy);
            Some(started?)
        }
        None => None,
    };
    let (network, network_link) = network.unzip();
    let shares = if vmm.serves_shares() {
        StartedShares::default()
    } else {
        share_process::start(&files, &launch_spec, &helpers.share)
            .map_err(io_error("start the process of a shared directory"))?
    };
    let sockets = sockets_process::start(&files, &launch_spec, &helpers.sockets)
        .map_err(io_error("start the process of forwarded sockets"))?;
    open_files::raise_limit().map_err(io_error("raise the limit on open files"))?;
    let image = image_disk::open(&launch_spec)?;
    let disks = disk_server::open(&launch_spec.machine, &files)?;
    let longest_bytes = disks.iter().map(OpenDisk::length_bytes).max().unwrap_or(0);
    let limits = confinement::limits(&launch_spec, vmm.serves_shares(), longest_bytes);
    renounce(&limits, strictness)?;
    let network = network.map(|network| start_log(network, &files, strictness));
    let (network, log) = network.transpose()?.unzip();
    let (host_end, guest_end) = UnixStream::pair().map_err(io_error("create the agent's port"))?;
    let jail = confinement::supervisor_jail(&files);
    let disk_socket = files.disk_socket();
    let config = launch_spec.supervisor.clone();
    // Opened here: the confined thread cannot open it.
    let console = File::open(&launch_spec.machine.console_log);
    let console = console.map_err(io_error("open the console's log"))?;
    let orders = disks.iter().map(|disk| start_cuts(disk, strictness));
    let orders = orders.collect::<Result<Vec<_>, _>>()?;
    let watched = Watched {
        disks: WatchedDisk::all(&launch_spec.machine),
        console: Some(console),
        // A machine has at most one disk of generations.
        cuts: orders.first().cloned(),
        shares: shares.for_supervisor,
        network: network_link,
        sockets,
        given,
    };
    start_confined("supervisor", jail, strictness, move || {
        keep(listener, host_end, files, watched, config)
    })?;
    let calls = vmm.calls_served_disks();
    let image = image.map(|image| serve_image(image, calls, &disk_socket, strictness));
    let (image, image_server) = image.transpose()?.unzip();
    // The image's disk is the first one.
    let mut served_disks = Vec::from_iter(image);
    let mut disk_servers = Vec::from_iter(image_server.flatten());
    for (disk, orders) in disks.into_iter().zip(orders) {
        if calls {
            served_disks.push(ServedDisk::Open(Box::new(disk.called(orders))));
            continue;
        }
        let connected = disk.connect(&disk_socket);
        let (socket, server) = connected.map_err(io_error("serve a disk"))?;
        let jail = server.jail();
        let serving = start_confined("disk", jail, strictness, move || server.serve())?;
        served_disks.push(ServedDisk::Connection(socket));
        disk_servers.push(serving);
    }
    let (network, _network_end) = network.unzip();
    let sockets = Sockets {
        agent_port: guest_end.into(),
        network,
        shares: shares.for_vmm,
        disks: served_disks,
    };
    timeline.mark(Mark::VmmEntered)?;
    // The file is closed before a guest can reach this process.
    drop(timeline);
    let ended = vmm.run(&launch_spec.machine, sockets, strictness);
    // The VMM has closed its connections. A server that is left now loses nothing that the guest has
    // flushed, but what it discarded would stay allocated.
    for server in disk_servers {
        let _ = server.join();
    }
    if let Some(log) = log {
        let _ = log.recv_timeout(NETWORK_LOG_TIMEOUT);
    }
    Ok(ended?)
}

/// Runs a supervisor without a machine, on a thread that is confined as in a VMM process. It serves
/// the clients of `listener`, and any agent at the other end of `port`. For tests with hostile
/// agents.
///
/// # Errors
/// If the thread cannot be confined. Otherwise the supervisor ends the process.
pub fn supervise(
    directory: &Path,
    listener: UnixListener,
    port: UnixStream,
    config: SupervisorConfig,
) -> Result<Infallible, VmmProcessError> {
    listener
        .set_nonblocking(true)
        .map_err(io_error("listen on the inherited socket"))?;
    let files = SandboxPaths {
        directory: directory.to_owned(),
    };
    let jail = confinement::supervisor_jail(&files);
    start_confined("supervisor", jail, Strictness::Required, move || {
        keep(listener, port, files, Watched::default(), config)
    })?;
    loop {
        std::thread::park();
    }
}

/// Returns a descriptor of the sandbox's lock that QEMU inherits. QEMU may take a moment to die after
/// this process, and has the disks open until then: the lock is free once both have closed their
/// files. The processes of the network and the shares have no disks, and close it.
fn shared_lock() -> io::Result<OwnedFd> {
    let lock = io::stdout().as_fd().try_clone_to_owned()?;
    fcntl_setfd(&lock, FdFlags::empty())?;
    Ok(lock)
}

/// Starts the thread that writes the log of the network. Returns both ends of the frame socket, and a channel that is
/// closed once the log is complete.
fn start_log(
    network: NetworkProcess,
    files: &SandboxPaths,
    strictness: Strictness,
) -> Result<((OwnedFd, OwnedFd), mpsc::Receiver<()>), VmmProcessError> {
    let (complete, log) = mpsc::channel();
    let (jail, files) = (confinement::supervisor_jail(files), files.clone());
    start_confined("network log", jail, strictness, move || {
        network_log::keep(network.reports, &files);
        drop(complete);
    })?;
    Ok(((network.guest_end, network.network_end), log))
}

/// Serves the image's disk by calls, or over a socket that has this path for a moment. Returns it as its VMM uses
/// it, and the thread that serves it, if there is one.
fn serve_image(
    image: ImageDisk,
    by_calls: bool,
    socket: &Path,
    strictness: Strictness,
) -> Result<(ServedDisk, Option<JoinHandle<()>>), VmmProcessError> {
    if by_calls {
        return Ok((ServedDisk::Open(Box::new(image.called())), None));
    }
    let connected = image.connect(socket);
    let (connection, server) = connected.map_err(io_error("serve the image's disk"))?;
    let jail = confinement::image_jail();
    let serving = start_confined("image disk", jail, strictness, move || server.serve())?;
    Ok((ServedDisk::Connection(connection), Some(serving)))
}

/// Starts the thread that cuts a disk, and returns the end for those who have it cut.
fn start_cuts(disk: &OpenDisk, strictness: Strictness) -> Result<DiskOrders, VmmProcessError> {
    let (orders, work) = disk_orders();
    let (disk, jail) = disk.shared();
    start_confined("cut", jail, strictness, move || work.carry_out(&disk))?;
    Ok(orders)
}

/// Starts a thread, and returns once it is confined.
fn start_confined(
    name: &'static str,
    jail: Jail,
    strictness: Strictness,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, VmmProcessError> {
    let failed = io_error("start a thread of the machine's process");
    let (confined, told) = mpsc::channel();
    let confine = move || {
        let report = jail.put_on(strictness);
        let is_confined = report.is_ok();
        // The other thread waits for this report.
        let _ = confined.send(report);
        if is_confined {
            work();
        }
    };
    let thread = std::thread::Builder::new().name(name.to_owned());
    let thread = thread.spawn(confine).map_err(&failed)?;
    let gone = |_| failed(io::ErrorKind::BrokenPipe.into());
    let report = told.recv().map_err(gone)??;
    report.lacking().for_each(log_lacking);
    Ok(thread)
}

fn log_lacking(lacking: &Layer) {
    log_line(&format!("the process is not fully confined: {lacking}"));
}

pub(crate) fn read_launch_spec(files: &SandboxPaths) -> Result<LaunchSpec, VmmProcessError> {
    Ok(LaunchSpec::read_to_run(files)?)
}

pub(crate) fn find_vmm<'a>(
    launch_spec: &LaunchSpec,
    backends: &[&'a dyn Vmm],
) -> Result<&'a dyn Vmm, VmmProcessError> {
    let found = backends.iter().find(|vmm| vmm.name() == launch_spec.vmm);
    found.copied().ok_or_else(|| VmmProcessError::UnknownVmm {
        name: launch_spec.vmm.clone(),
    })
}

/// Takes the image's lease, so that the image is not removed while this process lives. `None` if the
/// machine has no image.
fn hold(launch_spec: &LaunchSpec) -> Result<Option<ImageLease>, VmmProcessError> {
    if launch_spec.image_digest.is_empty() {
        return Ok(None);
    }
    let store = Store::open(&launch_spec.home)?;
    let image = store.find(&launch_spec.image_digest)?;
    let lease = store.lease(&image).map_err(io_error("lease the image"))?;
    Ok(Some(lease))
}

fn inherited_listener() -> io::Result<UnixListener> {
    let listener = UnixListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Connects clients to the agent until the process ends. A supervisor that fails ends the process: a
/// machine without one would know no limits.
#[expect(
    clippy::exit,
    reason = "the machine is to end, and its own thread does not return"
)]
fn keep(
    listener: UnixListener,
    port: UnixStream,
    files: SandboxPaths,
    watched: Watched,
    config: SupervisorConfig,
) -> ! {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let served = runtime.and_then(|runtime| {
        runtime.block_on(async {
            port.set_nonblocking(true)?;
            let listener = tokio::net::UnixListener::from_std(listener)?;
            let port = tokio::net::UnixStream::from_std(port)?;
            supervisor::keep(listener, port, files, watched, config).await
        })
    });
    match served {
        Ok(never) => match never {},
        Err(error) => log_line(&error.to_string()),
    }
    // A machine that ends by itself breaks the port first; its own thread says why.
    std::thread::sleep(VMM_END_TIMEOUT);
    std::process::exit(1)
}

fn io_error(action: &'static str) -> impl Fn(io::Error) -> VmmProcessError {
    move |source| VmmProcessError::Io { action, source }
}
