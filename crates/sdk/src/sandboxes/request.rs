use std::fmt;
use std::future::IntoFuture;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use msb_client::Shared;
use msb_images::Observer;
use msb_secrets::Secret;

use super::RootDisk;
use super::options::{CopyIn, HostName, NewDirectory, SandboxOptions};
use super::run::CreatedObserver;
use super::{Sandbox, run};
use crate::{
    Error, GuestSettings, Host, IntoSize, Mount, Network, Operation, Port, PullEvent, PullPolicy,
    Restart, Size, TerminalSize, Text, Ulimit, VmmChoice,
};

/// A sandbox that does not exist yet: options to set, then `.await`.
///
/// ```no_run
/// use msb_sdk::{Mount, Network};
///
/// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
/// let sandbox = msb
///     .sandboxes()
///     .run("python:3-slim")
///     .cpus(2)
///     .memory("1G")
///     .mount(Mount::bind("./src", "/src").read_only())
///     .network(Network::listed().allow("*.pypi.org"))
///     .await?;
/// # let _ = sandbox;
/// # Ok(())
/// # }
/// ```
#[must_use = "a sandbox is not created until it is awaited"]
pub struct SandboxRequest {
    shared: Arc<Shared>,
    options: SandboxOptions,
    /// True if the sandbox is started.
    runs: bool,
    /// True if its handle owns the sandbox.
    is_owned: bool,
    observer: Option<Observer>,
    created: Option<CreatedObserver>,
    /// The first option that cannot be used.
    invalid: Option<Error>,
}

impl fmt::Debug for SandboxRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SandboxRequest")
            .field(&self.options)
            .finish()
    }
}

impl SandboxRequest {
    pub(super) fn new(shared: Arc<Shared>, image: String, runs: bool) -> Self {
        Self {
            shared,
            options: SandboxOptions::new(image),
            runs,
            is_owned: runs,
            observer: None,
            created: None,
            invalid: None,
        }
    }

    fn sized(mut self, size: impl IntoSize, set: impl FnOnce(&mut SandboxOptions, Size)) -> Self {
        match size.into_size() {
            Ok(size) => set(&mut self.options, size),
            Err(error) => {
                self.invalid.get_or_insert(error);
            }
        }
        self
    }

    /// Begins with the files of a sandbox, or of its snapshot if it is `SANDBOX@SNAPSHOT`, instead of those
    /// of an image alone.
    pub fn from_sandbox(mut self, sandbox: impl Into<String>) -> Self {
        self.options.image.clear();
        self.options.from_sandbox = Some(sandbox.into());
        self
    }

    /// Begins with the files of a disk image, which is only read, instead of those of an image.
    pub fn root_disk(mut self, disk: RootDisk) -> Self {
        self.options.image.clear();
        self.options.root_disk = Some(disk);
        self
    }

    /// Makes the root one ext4 with the image's files, whose content stays in the layers, instead of an overlay.
    pub fn native_root(mut self) -> Self {
        self.options.native_root = true;
        self
    }

    /// Sets the name; without one, the sandbox's id is its name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = Some(name.into());
        self
    }

    /// Adds a label.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.labels.insert(key.into(), value.into());
        self
    }

    /// Sets the main command, with which the sandbox ends.
    pub fn command<T: Into<Text>>(mut self, argv: impl IntoIterator<Item = T>) -> Self {
        self.options.command = Some(argv.into_iter().map(Into::into).collect());
        self
    }

    /// Runs the image's own command as the main command.
    pub fn image_command(mut self) -> Self {
        self.options.command = Some(Vec::new());
        self
    }

    /// Sets the program to run instead of the image's Entrypoint; an empty one is no entrypoint.
    pub fn entrypoint(mut self, program: impl Into<String>) -> Self {
        self.options.entrypoint = Some(program.into());
        self
    }

    /// Sets an environment variable of the main command and later ones.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<Text>) -> Self {
        self.options.env.set(name, value);
        self
    }

    /// Sets the working directory of commands, an absolute path.
    pub fn cwd(mut self, path: impl Into<String>) -> Self {
        self.options.cwd = Some(path.into());
        self
    }

    /// Sets the user of commands, as `user[:group]`.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.options.user = Some(user.into());
        self
    }

    /// Adds a group of commands besides the user's.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.options.groups.push(group.into());
        self
    }

    /// Sets a resource limit of commands, such as `nofile`.
    pub fn ulimit(mut self, name: impl Into<String>, limit: impl Into<Ulimit>) -> Self {
        self.options.ulimits.insert(name.into(), limit.into());
        self
    }

    /// Gives the main command a terminal.
    pub fn tty(mut self, rows: u16, cols: u16) -> Self {
        self.options.tty = Some(TerminalSize { rows, cols });
        self
    }

    /// Keeps the main command's standard input open for attached clients.
    pub fn stdin(mut self) -> Self {
        self.options.stdin = true;
        self
    }

    /// Sets the number of virtual processors.
    pub fn cpus(mut self, cpus: u8) -> Self {
        self.options.cpus = Some(cpus);
        self
    }

    /// Sets the guest's memory, in bytes or as `1G`.
    pub fn memory(self, size: impl IntoSize) -> Self {
        self.sized(size, |options, size| options.memory = Some(size))
    }

    /// Sets the size of the writable disk, in bytes or as `8G`; it is sparse.
    pub fn disk(self, size: impl IntoSize) -> Self {
        self.sized(size, |options, size| options.disk = Some(size))
    }

    /// Has no effect: snapshots can be taken of each sandbox while it runs.
    pub fn snapshots(mut self) -> Self {
        self.options.snapshots = true;
        self
    }

    /// Has a snapshot be taken before each command that is run in the sandbox, so that it can be undone with
    /// [`Sandbox::undo`](crate::Sandbox::undo).
    pub fn snapshot_commands(mut self) -> Self {
        self.options.snapshot_commands = true;
        self
    }

    /// Sets the number of commands whose snapshots are kept, from 1 to 400; 50 by default.
    pub fn undo_limit(mut self, commands: u32) -> Self {
        self.options.undo_limit = Some(commands);
        self
    }

    /// Changes the settings of the guest.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let (hostname, tmp) = ("web".parse()?, "64M".parse()?);
    /// let sandbox = msb.sandboxes().run("alpine").guest(|guest| {
    ///     guest.hostname = Some(hostname);
    ///     guest.tmp = Some(tmp);
    ///     guest.read_only = true;
    /// });
    /// # let _ = sandbox.await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn guest(mut self, change: impl FnOnce(&mut GuestSettings)) -> Self {
        change(&mut self.options.guest);
        self
    }

    /// Adds a mount.
    pub fn mount(mut self, mount: Mount) -> Self {
        self.options.mounts.push(mount);
        self
    }

    /// Lets a port of the host lead to a TCP port of the sandbox.
    pub fn publish(self, guest_port: u16, host: Host) -> Self {
        self.publish_port(Port::new(guest_port, host))
    }

    /// Lets a port of the host lead to a port of the sandbox.
    pub fn publish_port(mut self, port: Port) -> Self {
        self.options.ports.push(port);
        self
    }

    /// Lets a free port of the host lead to each port that the image exposes.
    pub fn publish_all(mut self) -> Self {
        self.options.publish_all = true;
        self
    }

    /// Sets the destinations that the sandbox reaches.
    pub fn network(mut self, network: Network) -> Self {
        self.options.network = network;
        self
    }

    /// Adds a secret: programs have a placeholder, which the network replaces in requests to the secret's hosts.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let secret = "GH_TOKEN@github.com,api.github.com".parse()?;
    /// let sandbox = msb.sandboxes().run("alpine").secret(secret).await?;
    /// # let _ = sandbox;
    /// # Ok(())
    /// # }
    /// ```
    pub fn secret(mut self, secret: Secret) -> Self {
        self.options.secrets.push(secret);
        self
    }

    /// Lets programs trust the certificate authorities that this host trusts.
    pub fn host_ca(mut self) -> Self {
        self.options.host_ca = true;
        self
    }

    /// Copies a file or a directory of the host before the first boot, owned by root.
    pub fn copy(mut self, source: impl Into<PathBuf>, destination: impl Into<String>) -> Self {
        self.options.copy.push(CopyIn {
            source: source.into(),
            destination: destination.into(),
            uid: 0,
            gid: 0,
        });
        self
    }

    /// Makes a directory before the first boot.
    pub fn make_directory(mut self, path: impl Into<String>) -> Self {
        self.options.make_directories.push(NewDirectory {
            path: path.into(),
            mode: None,
        });
        self
    }

    /// Leaves a path of the image out.
    pub fn remove_path(mut self, path: impl Into<String>) -> Self {
        self.options.remove_paths.push(path.into());
        self
    }

    /// Adds a line to `/etc/hosts`; `host-gateway` stands for this host's loopback.
    pub fn add_host(mut self, name: impl Into<String>, address: impl Into<String>) -> Self {
        self.options.hosts.push(HostName {
            names: vec![name.into()],
            address: address.into(),
        });
        self
    }

    /// Stops the sandbox this long after its start.
    pub fn max_duration(mut self, duration: Duration) -> Self {
        self.options.max_duration_ms = Some(ms(duration));
        self
    }

    /// Stops the sandbox once no client was connected and no job has run for this long.
    pub fn idle_timeout(mut self, duration: Duration) -> Self {
        self.options.idle_timeout_ms = Some(ms(duration));
        self
    }

    /// Sets the condition under which the main command is started again.
    pub fn restart(mut self, restart: Restart) -> Self {
        self.options.restart = restart;
        self
    }

    /// Sets the signal that asks the main command to end.
    pub fn stop_signal(mut self, signal: impl Into<String>) -> Self {
        self.options.stop_signal = Some(signal.into());
        self
    }

    /// Sets the time that a stop gives processes to end.
    pub fn stop_timeout(mut self, duration: Duration) -> Self {
        self.options.stop_timeout_ms = Some(ms(duration));
        self
    }

    /// Sets the condition under which the image is pulled.
    pub fn pull(mut self, policy: PullPolicy) -> Self {
        self.options.pull = policy;
        self
    }

    /// Sets the image's platform, as `OS/ARCH[/VARIANT]`.
    pub fn platform(mut self, platform: impl Into<String>) -> Self {
        self.options.source.platform = Some(platform.into());
        self
    }

    /// Sets the virtual machine monitor.
    pub fn vmm(mut self, vmm: VmmChoice) -> Self {
        self.options.start.vmm = Some(vmm);
        self
    }

    /// Sets the time that the guest may take to answer.
    pub fn boot_timeout(mut self, duration: Duration) -> Self {
        self.options.start.boot_timeout_ms = Some(ms(duration));
        self
    }

    /// Replaces all options, those that could not be used among them.
    pub fn with_options(mut self, options: SandboxOptions) -> Self {
        self.options = options;
        self.invalid = None;
        self
    }

    /// Starts the sandbox without an owner: it is kept, also after this process, unless it is to be
    /// removed when it stops. A sandbox whose command has run is then kept even if the start fails.
    pub fn detached(mut self) -> Self {
        self.is_owned = false;
        self
    }

    /// Passes the id of the sandbox to `observer` as soon as it exists, before it is started. If that
    /// fails, the sandbox is removed, and the operation fails with the message of the error.
    pub fn watch_id<F, E>(mut self, observer: F) -> Self
    where
        F: Fn(&str) -> Result<(), E> + Send + Sync + 'static,
        E: fmt::Display,
    {
        let observer = move |id: &str| observer(id).map_err(|error| error.to_string());
        self.created = Some(Arc::new(observer));
        self
    }

    /// Passes the events of the image's pull to `observer`, on the threads that import. It must be
    /// quick.
    pub fn watch_pull(mut self, observer: impl Fn(PullEvent) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Returns the options so far, as data.
    pub fn options(&self) -> &SandboxOptions {
        &self.options
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl IntoFuture for SandboxRequest {
    type Output = Result<Sandbox, Error>;
    type IntoFuture = Operation<Sandbox>;

    fn into_future(self) -> Operation<Sandbox> {
        if let Some(error) = self.invalid {
            return Operation::new(async { Err(error) });
        }
        if self.runs {
            let observers = (self.observer, self.created);
            run::run(self.shared, self.options, observers, self.is_owned)
        } else {
            run::create(self.shared, self.options, (self.observer, self.created))
        }
    }
}
