use std::path::PathBuf;
use std::sync::Arc;

use msb_client::Shared;

use crate::{
    Error, Finding, Fix, Images, Jail, Maintenance, Notice, Operation, PackAfter, Sandboxes,
    Settings, Size, Usage, Version, VmmChoice, Volumes, doctor, usage,
};

/// A client of msb: the way to its images, sandboxes and volumes.
///
/// Clones are cheap and share everything. A client starts no process of its own and keeps no
/// connection open; sandboxes of all clients with one home are the same.
///
/// ```no_run
/// use msb_sdk::Msb;
///
/// # async fn example() -> Result<(), msb_sdk::Error> {
/// let msb = Msb::new()?;
/// let sandbox = msb.sandboxes().run("alpine").await?;
/// let output = sandbox.exec(["uname", "-a"]).await?;
/// println!("{}", output.text());
/// sandbox.close().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Msb {
    shared: Arc<Shared>,
}

impl Msb {
    /// Returns a client with the settings of the environment: `MSB_HOME`, `MSB_PROGRAM`,
    /// `MSB_KERNEL`, `MSB_QEMU`, `MSB_VMM`, `MSB_JAIL`, `MSB_LIMITS` and `MSB_STORE_LIMIT`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a setting that cannot be used.
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Returns a builder, to set what the environment does not.
    ///
    /// ```no_run
    /// use msb_sdk::{Msb, VmmChoice};
    ///
    /// # fn example() -> Result<(), msb_sdk::Error> {
    /// let msb = Msb::builder().home("/srv/msb").vmm(VmmChoice::Qemu).build()?;
    /// # let _ = msb;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> MsbBuilder {
        MsbBuilder::default()
    }

    /// Returns a client with these settings, completed from the environment.
    ///
    /// # Errors
    /// Fails as [`Msb::new`] does.
    pub fn with_settings(settings: Settings) -> Result<Self, Error> {
        let settings = settings.completed(|name| std::env::var_os(name))?;
        let shared = Shared::new(settings)?;
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Makes the home inaccessible to other users of the host, as every operation does first. Its
    /// notice is among [`take_notices`](Self::take_notices).
    ///
    /// # Errors
    /// [`PermissionDenied`](crate::ErrorKind::PermissionDenied) if the home is another user's.
    pub fn close_home(&self) -> Operation<()> {
        let shared = Arc::clone(&self.shared);
        Operation::new(async move { shared.ready().await })
    }

    /// Returns the images in the store.
    pub fn images(&self) -> Images {
        Images::new(Arc::clone(&self.shared))
    }

    /// Returns the sandboxes.
    pub fn sandboxes(&self) -> Sandboxes {
        Sandboxes::new(Arc::clone(&self.shared))
    }

    /// Returns the volumes.
    pub fn volumes(&self) -> Volumes {
        Volumes::new(Arc::clone(&self.shared))
    }

    /// Inspects everything that sandboxes need on this host.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// for finding in msb.doctor().await? {
    ///     println!("{}: {}", finding.subject, finding.finding);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn doctor(&self) -> Operation<Vec<Finding>> {
        let shared = Arc::clone(&self.shared);
        Operation::new(async move { doctor::diagnose(shared).await })
    }

    /// Repairs what [`doctor`](Self::doctor) finds, as far as that needs no root. Returns the steps
    /// that were done and, with their commands, those that are left.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// for fix in msb.fix().await?.iter().filter(|fix| !fix.is_done) {
    ///     println!("{}: {}", fix.action, fix.commands.join("; "));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn fix(&self) -> Operation<Vec<Fix>> {
        let shared = Arc::clone(&self.shared);
        Operation::new(async move { doctor::fix(shared).await })
    }

    /// Measures the space that the images, sandboxes and volumes take on the host.
    ///
    /// # Errors
    /// If the home cannot be read.
    pub fn usage(&self) -> Operation<Usage> {
        let shared = Arc::clone(&self.shared);
        Operation::new(async move { shared.with_home(usage::measure).await })
    }

    /// Returns the versions of this library.
    pub fn version(&self) -> Version {
        msb_client::version()
    }

    /// Returns the path of the program `msb` that starts sandboxes, once its version is known to be
    /// this library's.
    ///
    /// # Errors
    /// [`VersionMismatch`](crate::ErrorKind::VersionMismatch) if it is of another build or another
    /// program of that name, [`VmmMissing`](crate::ErrorKind::VmmMissing) if there is none.
    pub fn program(&self) -> Operation<PathBuf> {
        let shared = Arc::clone(&self.shared);
        Operation::new(async move { shared.program().await })
    }

    /// Returns the settings, completed from the environment.
    pub fn settings(&self) -> &Settings {
        self.shared.settings()
    }

    /// Returns the directory of all of msb's data.
    pub fn home(&self) -> &std::path::Path {
        self.shared.home().root()
    }

    /// Waits until everything that dropped handles and cancelled operations of this client have left
    /// is removed. A program calls it before it ends; what is left then is removed by the next
    /// listing or start of any client.
    pub fn settled(&self) -> Operation<()> {
        let shared = Arc::clone(&self.shared);
        Operation::new(async move {
            shared.cleanups().settled().await;
            Ok(())
        })
    }

    /// Returns the notices of the client that no operation has returned, and forgets them.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.shared.take_notices()
    }
}

/// A builder of a [`Msb`]. What it does not set comes from the environment.
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until it is built"]
pub struct MsbBuilder {
    settings: Settings,
}

impl MsbBuilder {
    /// Sets the directory of all of msb's data.
    pub fn home(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.home = Some(path.into());
        self
    }

    /// Sets the program `msb`, which must be of the same build as this library.
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.program = Some(path.into());
        self
    }

    /// Sets the program `msb`, which is the running program itself and is not asked for its
    /// version.
    pub fn own_program(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.program = Some(path.into());
        self.settings.is_own_program = true;
        self
    }

    /// Sets the guest kernel, a libkrunfw or a vmlinux.
    pub fn kernel(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.kernel = Some(path.into());
        self
    }

    /// Sets the QEMU program, a path or a name.
    pub fn qemu(mut self, program: impl Into<PathBuf>) -> Self {
        self.settings.qemu = Some(program.into());
        self
    }

    /// Sets the virtual machine monitor.
    pub fn vmm(mut self, vmm: VmmChoice) -> Self {
        self.settings.vmm = Some(vmm);
        self
    }

    /// Sets the time of the work on snapshots and on the store of images in the background.
    pub fn maintenance(mut self, maintenance: Maintenance) -> Self {
        self.settings.maintenance = Some(maintenance);
        self
    }

    /// Sets the time since the last use of an image after which its layers are packed.
    pub fn pack_after(mut self, pack: PackAfter) -> Self {
        self.settings.pack = Some(pack);
        self
    }

    /// Sets the limit of the space that the cache files of packed layers take.
    pub fn pack_cache(mut self, limit: Size) -> Self {
        self.settings.pack_cache = Some(limit);
        self
    }

    /// Sets the strictness of the confinement of virtual machines' processes.
    pub fn jail(mut self, jail: Jail) -> Self {
        self.settings.jail = Some(jail);
        self
    }

    /// Sets the limit of the space that all images take.
    pub fn store_limit(mut self, limit: Size) -> Self {
        self.settings.store_limit = Some(limit);
        self
    }

    /// Sets the file in which the stages of starts are recorded.
    pub fn timeline(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.timeline = Some(path.into());
        self
    }

    /// Returns the client.
    ///
    /// # Errors
    /// Fails as [`Msb::new`] does.
    pub fn build(self) -> Result<Msb, Error> {
        Msb::with_settings(self.settings)
    }
}
