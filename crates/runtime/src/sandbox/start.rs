use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use durable_files::now_s;
use fs_err as fs;
use generations::Base;
use image_store::{StoredImage, VerifyMode};
use msb_agent_protocol::Client;
use msb_agent_protocol::v1::HelloReply;
use msb_jail::Strictness;
use msb_machine_records::{Timeline, untrusted_file};
use msb_network::{ProxyVariables, Settings, check_published};
use msb_sandbox_model::AGENT_VARIABLE;
use rustix::fs::{FallocateFlags, fallocate};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use super::own::{OwnOptions, Owner, OwnerLock};
use super::running::{log_tail, reason};
use super::started_process::StartedProcess;
use super::{BootFiles, Lock, Running, Sandbox, StartError, UpperPool, current_staged, upper};
use crate::boot::boot_disk;
use crate::launch_spec::{LAUNCH_FORMAT, LaunchSpec, SupervisorConfig, VmmCommand};
use crate::mounts::{Layout, Room};
use crate::native_root::check_layers;
use crate::volumes::Volume;
use crate::{Home, Kernel, KernelSearch, mounts, socket};

/// The variables that name the certificate authorities of a host.
const ROOTS: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The options for starting a sandbox.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// The directory of all of msb's data.
    pub home: Home,
    /// The image, already checked; `None` if the root is a disk image.
    pub image: Option<StoredImage>,
    /// The mode in which the kernel and the boot disk are checked.
    pub trust: VerifyMode,
    /// The name of the VMM.
    pub vmm: &'static str,
    /// The room for mounts that the VMM has for this sandbox.
    pub room: Room,
    /// The command that runs the VMM process.
    pub vmm_command: VmmCommand,
    /// The path of the kernel that the user gave in `MSB_KERNEL`.
    pub msb_kernel: Option<OsString>,
    /// The boot timeout.
    pub boot_timeout: Duration,
    /// True if the main command waits until a client has attached to it.
    pub attached: bool,
    /// The rows and columns of the main command's terminal, if they are known.
    pub window: Option<(u32, u32)>,
    /// The ownership that the starting process has from before the VMM process exists; `None` if
    /// the sandbox runs on without it.
    pub owner: Option<OwnOptions>,
    /// The strictness of the VMM process's confinement.
    pub jail: Strictness,
    /// The record of the start's progress.
    pub timeline: Timeline,
}

/// An owner of a machine whose guest is not up yet.
struct StartingOwner {
    lock: OwnerLock,
    stream: std::os::unix::net::UnixStream,
    options: OwnOptions,
}

impl Sandbox {
    /// Boots the sandbox and waits until its agent answers.
    ///
    /// # Errors
    /// A missing kernel, a machine that ends or does not answer. The machine is then gone and the
    /// upper disk is kept. The same holds if this future is dropped before it completes.
    pub async fn start(&self, lock: Lock, options: &StartOptions) -> Result<Running, StartError> {
        self.check_base(options.image.as_ref())?;
        upper::grow(&self.files, &self.spec).map_err(io_error("grow the writable disk"))?;
        let kernel = Kernel::find(
            &options.home,
            KernelSearch {
                msb_kernel: options.msb_kernel.as_deref(),
                program: Some(&options.vmm_command.program),
                needed: self.spec.root_filesystems(),
            },
            options.trust,
        )?;
        self.check_mounts(&options.home)?;
        let staged = current_staged(&self.files)
            .map_err(io_error("find the image of the staged directories"))?;
        let layout = Layout::assign(
            (&options.home, &self.files),
            &self.spec.mounts,
            &options.room,
            staged,
        )?;
        let upper = upper::disk(&self.files);
        let now_s = now_s();
        // The layers of a native root are blocks of the upper disk.
        let image = options.image.as_ref();
        let image = image.filter(|_| !self.spec.native_root);
        let boot_files = BootFiles {
            kernel: kernel.path,
            boot_disk: boot_disk(&options.home, options.trust)?,
            image_vmdk: image.map(|image| image.vmdk.clone()),
            now_s,
        };
        let launch_spec = LaunchSpec {
            format: LAUNCH_FORMAT,
            machine: self.spec.machine(&self.files, &boot_files, upper, layout),
            vmm: options.vmm.to_owned(),
            home: options.home.root().to_owned(),
            image_digest: self.spec.image_digest.clone(),
            image_extents: image.map(StoredImage::extents).unwrap_or_default(),
            started_s: now_s,
            supervisor: SupervisorConfig {
                process: self.spec.process.clone(),
                guest: self.spec.guest.clone(),
                attached: options.attached,
                window: options.window,
                restart: self.spec.restart,
                lifetime: self.spec.lifetime,
                stop_signal: self.spec.stopping.signal,
                owner: options.owner.as_ref().map(OwnOptions::awaited),
            },
            network: self.spec.network.clone(),
            volumes: self.spec.volumes(),
            jail: options.jail,
        };
        if let Some(network) = &self.spec.network {
            free_ports(network).await?;
        }
        let listener = self
            .prepare(&launch_spec)
            .map_err(io_error("prepare the sandbox"))?;
        self.send_proxy()
            .map_err(io_error("send the variables of the upstream proxy"))?;
        let owner = options.owner.map(|owner| self.starting_owner(owner));
        let owner = owner.transpose().map_err(io_error("own the sandbox"))?;
        let process = self
            .spawn(lock, listener, &options.vmm_command)
            .map_err(io_error("start the virtual machine's process"))?;
        let mut process = StartedProcess::starting(process);
        let greeted = match self.greet(&mut process, options).await {
            Ok((client, info)) => self
                .own_started(owner)
                .await
                .map(|owner| (client, info, owner)),
            Err(error) => Err(error),
        };
        match greeted {
            Ok((client, info, owner)) => Ok(Running::new(
                self.clone(),
                process.up(),
                client,
                info,
                owner,
            )),
            Err(error) => {
                // The process may have ended by itself; it is gone in either case.
                let _ = process.kill().await;
                let _ = self.wait_for_release().await;
                Err(error)
            }
        }
    }

    /// Checks that the disk image or the layers that the root begins with have not changed since the sandbox
    /// was created.
    fn check_base(&self, image: Option<&StoredImage>) -> Result<(), StartError> {
        if self.spec.root_disk.is_none() && !self.spec.native_root {
            return Ok(());
        }
        let pool = UpperPool::existing(&self.files);
        let base = pool.and_then(|pool| pool.base().map_err(io::Error::other));
        let Some(base) = base.map_err(io_error("open the writable disk"))? else {
            return Ok(());
        };
        if let (Base::FileBlocks(blocks), Some(image)) = (&base, image) {
            check_layers(blocks, image)?;
        }
        Ok(base.open(&self.files.generations()).map(drop)?)
    }

    /// Prepares the ownership of a machine that does not run yet. The connection waits in the
    /// socket's queue, and the supervisor accepts it first.
    fn starting_owner(&self, options: OwnOptions) -> io::Result<StartingOwner> {
        // Nothing but the variables of a proxy comes first: the supervisor takes the first connection for this one.
        let stream = socket::connect_now(&self.files.socket())?;
        stream.set_nonblocking(true)?;
        let lock = OwnerLock::take(&self.files)?;
        if options.remove {
            self.remove_with_owner(true)?;
        }
        Ok(StartingOwner {
            lock,
            stream,
            options,
        })
    }

    /// Becomes the owner of the machine that this process has started, once the guest is up.
    async fn own_started(&self, owner: Option<StartingOwner>) -> Result<Option<Owner>, StartError> {
        let Some(owner) = owner else {
            return Ok(None);
        };
        let stream = UnixStream::from_std(owner.stream).map_err(io_error("own the sandbox"))?;
        let owned = self.own_through(stream, owner.lock, owner.options).await;
        Ok(Some(owned.map_err(StartError::Own)?))
    }

    /// Checks that the sources of all mounts exist and are free. The VMM process takes them later.
    fn check_mounts(&self, home: &Home) -> Result<(), StartError> {
        for mount in &self.spec.mounts {
            mount.check()?;
        }
        mounts::keep_home_out(home, &self.spec.mounts)?;
        for wanted in self.spec.volumes() {
            let volume = Volume::find(home, &wanted.volume)?;
            volume.check_free(home, &wanted, &self.spec.id)?;
        }
        Ok(())
    }

    fn prepare(&self, launch_spec: &LaunchSpec) -> io::Result<UnixListener> {
        let json = serde_json::to_vec_pretty(launch_spec)?;
        // A sandbox that is removed when it stops needs no sync: a sweep removes it after a power
        // cut.
        if self.spec.remove_when_stopped {
            durable_files::replace_bytes(&self.files.launch_spec(), &json)?
        } else {
            durable_files::publish_bytes(&self.files.launch_spec(), &json)?
        }
        for stale in [
            self.files.socket(),
            self.files.secrets_socket(),
            self.files.ports(),
            self.files.console_log(),
            self.files.vmm_log(),
        ] {
            match fs::remove_file(stale) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        untrusted_file::clear(&self.files.exit())?;
        untrusted_file::clear(&self.files.paused())?;
        untrusted_file::clear(&self.files.up())?;
        untrusted_file::clear(&self.files.jobs())?;
        durable_files::ensure_directory(&self.files.written())?;
        // The VMM opens this log by its own path.
        durable_files::create_new(&self.files.console_log())?;
        socket::bind(&self.files.socket())
    }

    /// Sends the variables that name the user's proxy, if the network goes through it. They wait in the socket's queue, and
    /// the VMM process passes this first connection on: nothing of it gets into its environment or memory.
    fn send_proxy(&self) -> io::Result<()> {
        let network = self.spec.network.as_ref();
        if !network.is_some_and(Settings::reads_proxy) {
            return Ok(());
        }
        ProxyVariables::of_environment().send(socket::connect_now(&self.files.socket())?)
    }

    /// Starts the VMM process with an empty environment, but for the names of the host's certificate authorities
    /// if the sandbox's network verifies certificates, and that of a forwarded SSH agent.
    /// The listener is its standard input and the lock its standard output, so that both live
    /// exactly as long as the machine's processes.
    fn spawn(&self, lock: Lock, listener: UnixListener, command: &VmmCommand) -> io::Result<Child> {
        let log = durable_files::create(&self.files.vmm_log())?;
        // The log needs this room to report a full disk. Some filesystems cannot reserve it.
        let _ = fallocate(&log, FallocateFlags::KEEP_SIZE, 0, LOG_RESERVE_BYTES);
        Command::new(&command.program)
            .args(&command.arguments)
            .env_clear()
            .envs(self.variables())
            .envs(self.ssh_agent())
            .arg(&self.files.directory)
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::from(lock.0.into_parts().0))
            .stderr(Stdio::from(log.into_parts().0))
            .process_group(0)
            .spawn()
    }

    /// Returns the variables that name the host's certificate authorities, if the network verifies certificates.
    fn variables(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let network = self.spec.network.as_ref();
        let verifies = network.is_some_and(Settings::ends_tls);
        let names = ROOTS.into_iter().filter(move |_| verifies);
        names.filter_map(|name| Some((name, std::env::var_os(name)?)))
    }

    /// Returns the variable that names the host's SSH agent, if it is forwarded.
    fn ssh_agent(&self) -> Option<(&'static str, OsString)> {
        let path = std::env::var_os(AGENT_VARIABLE)?;
        let is_forwarded = self.spec.guest.forward_agent;
        is_forwarded.then_some((AGENT_VARIABLE, path))
    }

    /// Waits for the agent's first answer, the end of the process, or the timeout.
    async fn greet(
        &self,
        process: &mut StartedProcess,
        options: &StartOptions,
    ) -> Result<(Client, HelloReply), StartError> {
        let hello = async {
            let stream = socket::connect(&self.files.socket())
                .await
                .map_err(io_error("connect to the virtual machine's process"))?;
            let mut client = Client::connect(stream).await.map_err(StartError::Agent)?;
            let info = client.hello().await.map_err(StartError::Agent)?;
            options.timeline.mark_answer(&info)?;
            Ok((client, info))
        };
        tokio::select! {
            greeted = hello => match greeted {
                // A process that ends closes the socket too; its exit status says more.
                Err(StartError::Agent(error)) => match ended_soon(process).await {
                    Some(status) => Err(self.ended(status)),
                    None => Err(StartError::Agent(error)),
                },
                other => other,
            },
            status = process.wait() => match status {
                Ok(status) => Err(self.ended(status)),
                Err(source) => Err(StartError::Io { action: "wait for the virtual machine", source }),
            },
            () = tokio::time::sleep(options.boot_timeout) => Err(StartError::Silent {
                limit_s: options.boot_timeout.as_secs(),
                log_tail: log_tail(&self.files),
            }),
        }
    }

    fn ended(&self, status: ExitStatus) -> StartError {
        let (reason, log_tail) = reason(&self.files, log_tail(&self.files));
        StartError::Ended {
            outcome: status.to_string(),
            reason,
            log_tail,
        }
    }
}

/// Waits until the published ports are free, which the sandbox's last machine may still hold.
async fn free_ports(network: &Settings) -> Result<(), StartError> {
    let deadline = Instant::now() + PORTS_TIMEOUT;
    loop {
        match check_published(&network.publish) {
            Err(_) if Instant::now() < deadline => sleep(PORTS_INTERVAL).await,
            outcome => return Ok(outcome?),
        }
    }
}

/// Disk space that is reserved for the VMM process's log at its creation, in bytes.
const LOG_RESERVE_BYTES: u64 = 4096;

/// The timeout for the last machine to release its ports, and the polling interval.
const PORTS_TIMEOUT: Duration = Duration::from_millis(300);
const PORTS_INTERVAL: Duration = Duration::from_millis(20);

async fn ended_soon(process: &mut StartedProcess) -> Option<ExitStatus> {
    tokio::time::timeout(Duration::from_secs(2), process.wait())
        .await
        .ok()?
        .ok()
}

fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> StartError {
    move |source| StartError::Io { action, source }
}
