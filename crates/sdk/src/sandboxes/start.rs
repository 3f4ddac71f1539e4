//! The start of a sandbox's machine.

use std::sync::Arc;
use std::time::Duration;

use diagnosis::Hint;
use image_store::{FindError, ImageLease, StoredImage};
use msb_cancellation::{Abandonment, Effect};
use msb_client::{Backends, Shared, blocking};
use msb_machine_records::{Exit, Mark};
use msb_runtime::{
    Lock, Mount, Running, Sandbox as StoredSandbox, Spec, StartError,
    StartOptions as MachineOptions,
};
use msb_sandbox_handle::{Handle, own_options};
use msb_sandbox_secrets::{Delivery, DeliveryError, GivenValues};
use oci_image::Reference;

use super::Sandbox;
use super::create::{tree_notice, verify_mode, vmm_choice};
use crate::{Error, ErrorKind, Jail, Notice, Operation, StartOptions, TerminalSize};

/// The time that a guest may take to answer, unless the caller gives another.
const BOOT_TIMEOUT: Duration = Duration::from_secs(120);
/// The notice for a guest with a writable host directory that libkrun serves itself.
const KRUN_WRITES: &str = "root in this guest can also change the modes and times of your other \
    files, but not their contents: libkrun does not check names in a writable directory; --vmm \
    qemu does";

/// The parameters of a start, besides the right to it.
pub(super) struct Start<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) sandbox: &'a StoredSandbox,
    /// The image, which has been checked; `None` if the root is a disk image.
    pub(super) image: Option<&'a StoredImage>,
    pub(super) options: &'a StartOptions,
    /// Values of secrets that are in no file.
    pub(super) given: &'a GivenValues,
    /// The size of the main command's terminal, if it is known.
    pub(super) window: Option<TerminalSize>,
    /// True if this process is to own the sandbox.
    pub(super) is_owned: bool,
}

/// A sandbox that has just been started.
#[derive(Debug)]
pub(super) struct Booted {
    pub(super) running: Running,
    pub(super) warnings: Vec<Notice>,
}

impl Start<'_> {
    /// Boots the sandbox. Its main command runs when this returns, unless it waits for a client.
    pub(super) async fn boot(&self, lock: Lock) -> Result<Booted, Error> {
        let booted = self.boot_machine(lock).await;
        let had_machine = match &booted {
            Ok(_) => true,
            Err(BootError::Machine(error)) => error.is_of_the_machine(),
            Err(BootError::Other(_)) => false,
        };
        // A command that cannot be started ends its machine, perhaps before this process has seen
        // it running.
        let exit = if had_machine && !self.options.wait_for_attach {
            let sandbox = self.sandbox.clone();
            blocking(move || Ok::<_, Error>(sandbox.first_exit())).await?
        } else {
            None
        };
        if let Some(Exit {
            code,
            error: Some(error),
            ..
        }) = exit
        {
            if let Ok(booted) = booted {
                booted.running.ended().await?;
            }
            return Err(not_run(code, &error));
        }
        booted.map_err(|error| {
            let error = match error {
                BootError::Machine(error) => Error::from(error),
                BootError::Other(error) => error,
            };
            self.shared
                .in_home(error)
                .context("cannot start the sandbox")
        })
    }

    async fn boot_machine(&self, lock: Lock) -> Result<Booted, BootError> {
        let other = BootError::Other;
        let sockets = msb_sandbox_sockets::check(&self.sandbox.spec, self.shared.home());
        sockets.map_err(|error| other(error.into()))?;
        let delivery = self.delivery().await.map_err(other)?;
        let has_network = self.sandbox.spec.network.is_some();
        let wanted = vmm_choice(self.shared, self.options);
        let selecting = {
            let shared = Arc::clone(self.shared);
            blocking(move || Backends::new(shared.settings()).select(wanted, has_network))
        };
        let selected = selecting.await.map_err(other)?;
        let mut warnings = Vec::new();
        if let Some(notice) = selected.notice {
            warnings.push(Notice::new("emulation", notice));
        }
        let mut mounts = self.sandbox.spec.mounts.iter();
        if selected.serves_shares && mounts.any(Mount::opens_the_host) {
            warnings.push(Notice::new("host-directory", KRUN_WRITES));
        }
        let settings = self.shared.settings();
        let jail = settings.jail.unwrap_or_default();
        if jail == Jail::Off {
            let message = "the virtual machine's process is not confined: MSB_JAIL=off";
            warnings.push(Notice::new("jail-off", message));
        }
        let program = self.shared.program().await.map_err(other)?;
        let kernel = settings.kernel.clone();
        let timeout = self.options.boot_timeout_ms.map(Duration::from_millis);
        let options = MachineOptions {
            home: self.shared.home().clone(),
            image: self.image.cloned(),
            trust: verify_mode(self.options.verify),
            vmm: selected.name,
            room: selected.room,
            vmm_command: self.shared.vmm_command(program),
            msb_kernel: kernel.map(std::path::PathBuf::into_os_string),
            boot_timeout: timeout.unwrap_or(BOOT_TIMEOUT),
            attached: self.options.wait_for_attach,
            window: self.window.map(|size| (size.rows.into(), size.cols.into())),
            owner: self.is_owned.then(own_options),
            jail,
            timeline: self.shared.timeline().clone(),
        };
        let running = match delivery {
            None => self.sandbox.start(lock, &options).await?,
            Some(delivery) => {
                let expires = delivery.expires();
                let running = delivery.start(self.sandbox, lock, &options).await?;
                if expires {
                    self.shared.begin_refresh(self.sandbox).await;
                }
                running
            }
        };
        self.shared.maintain_images().await;
        Ok(Booted { running, warnings })
    }

    /// Reads the values of the secrets; `None` if there are no secrets.
    async fn delivery(&self) -> Result<Option<Delivery>, Error> {
        if msb_sandbox_secrets::recorded(&self.sandbox.spec).is_empty() {
            return Ok(None);
        }
        let (sandbox, given) = (self.sandbox.clone(), self.given.clone());
        blocking(move || Delivery::resolve(&sandbox, &given)).await
    }
}

impl Sandbox {
    /// Starts the sandbox from the disk that it was stopped with.
    ///
    /// # Errors
    /// [`SandboxRunning`](ErrorKind::SandboxRunning), or one of
    /// [`StartError`](ErrorKind::StartError).
    pub fn start(&self) -> Operation<Vec<Notice>> {
        self.start_with(StartOptions::default())
    }

    /// Starts the sandbox with these parameters. Returns the notices of the start.
    ///
    /// # Errors
    /// Fails as [`start`](Self::start) does.
    pub fn start_with(&self, options: StartOptions) -> Operation<Vec<Notice>> {
        let handle = self.handle();
        Operation::new(async move {
            let shared = Arc::clone(handle.shared());
            let id = handle.stored().spec.id.to_string();
            shared.unfinished().settled_for(&id, Effect::Guest).await;
            let starting = |abandoned| start_unless_abandoned(handle, options, abandoned);
            let unfinished = shared.unfinished();
            unfinished
                .undoable_change(&id, Effect::Guest, starting)
                .await
        })
    }
}

/// Starts the sandbox of a handle. If the caller goes before it is up, its machine is ended.
async fn start_unless_abandoned(
    handle: Arc<Handle>,
    options: StartOptions,
    abandoned: Abandonment,
) -> Result<Vec<Notice>, Error> {
    let stored = handle.stored();
    let checking = {
        let options = options.clone();
        handle
            .shared()
            .with_home(move |shared| Ready::check(shared, &stored, &options))
    };
    let ready = checking.await?;
    let given = handle.given();
    let start = Start {
        shared: handle.shared(),
        sandbox: &ready.sandbox,
        image: ready.image.as_ref(),
        options: &options,
        given: &given,
        window: options.window,
        is_owned: false,
    };
    let booted = tokio::select! {
        booted = start.boot(ready.lock) => booted?,
        () = abandoned.wait() => {
            // The dropped start has killed its process, which goes in a moment.
            ready.sandbox.wait().await?;
            return Err(Error::internal("the start was given up"));
        }
    };
    // Values that a program gave are for one start.
    handle.give(GivenValues::default());
    handle.replace(ready.sandbox);
    handle.keep(booted.running).await;
    let mut warnings = handle.shared().take_notices();
    warnings.extend(ready.warnings);
    warnings.extend(booted.warnings);
    Ok(warnings)
}

/// The failure of a boot: of the machine itself, or of what comes before.
enum BootError {
    Machine(StartError),
    Other(Error),
}

impl From<StartError> for BootError {
    fn from(error: StartError) -> Self {
        Self::Machine(error)
    }
}

impl From<DeliveryError> for BootError {
    fn from(error: DeliveryError) -> Self {
        match error {
            DeliveryError::Start(error) => Self::Machine(error),
            error => Self::Other(error.into()),
        }
    }
}

const AN_OPTION_IS_NO_PROGRAM: &str =
    "a command begins with a program; put options of the sandbox before the image";

/// Returns the error of a main command that could not be run, by its exit code.
fn not_run(code: u8, error: &str) -> Error {
    let kind = match code {
        127 => ErrorKind::CommandNotFound,
        126 => ErrorKind::NotExecutable,
        _ => ErrorKind::CommandError,
    };
    let not_run = Error::new(kind, msb_client::printable(error)).with_exit_code(code);
    // `msb run IMAGE --rm` is a command whose program is `--rm`.
    if code == 127 && error.starts_with('-') {
        return not_run.with_hint(AN_OPTION_IS_NO_PROGRAM);
    }
    not_run
}

/// A stopped sandbox that is ready to be started.
#[derive(Debug)]
pub(super) struct Ready {
    /// The sandbox, read again under the lock, so that no other process can change it.
    pub(super) sandbox: StoredSandbox,
    /// `None` if the root is a disk image.
    pub(super) image: Option<StoredImage>,
    pub(super) lock: Lock,
    /// The lease that keeps the image until its machine has its own lease.
    pub(super) lease: Option<ImageLease>,
    /// The notices of the check.
    pub(super) warnings: Vec<Notice>,
}

impl Ready {
    /// Leases and checks the image of a stopped sandbox, and takes the right to start it.
    pub(super) fn check(
        shared: &Shared,
        sandbox: &StoredSandbox,
        options: &StartOptions,
    ) -> Result<Self, Error> {
        let mut warnings = Vec::new();
        let leased = Self::leased_image(shared, sandbox, options, &mut warnings)?;
        let (image, lease) = leased.unzip();
        shared.timeline().mark(Mark::ImageChecked)?;
        let name = &sandbox.spec.name;
        let claimed = sandbox.claim().map_err(|error| {
            let is_gone = error.kind() == std::io::ErrorKind::NotFound;
            let error = Error::from(error).context(format!("cannot start {name}"));
            if is_gone {
                error.with_kind(ErrorKind::SandboxNotFound)
            } else {
                error
            }
        })?;
        let (sandbox, lock) = claimed.ok_or_else(|| {
            Error::new(
                ErrorKind::SandboxRunning,
                format!("sandbox {name} is running"),
            )
            .with_detail("name", name.as_str())
            .with_hint(Hint::run_command(name))
        })?;
        Ok(Self {
            sandbox,
            image,
            lock,
            lease,
            warnings,
        })
    }
}

impl Ready {
    /// Leases and checks the image of a sandbox; `None` if its root is a disk image.
    fn leased_image(
        shared: &Shared,
        sandbox: &StoredSandbox,
        options: &StartOptions,
        warnings: &mut Vec<Notice>,
    ) -> Result<Option<(StoredImage, ImageLease)>, Error> {
        if sandbox.spec.root_disk.is_some() {
            return Ok(None);
        }
        let store = shared.store()?;
        let image = store.find(&sandbox.spec.image_digest);
        let image = image.map_err(|error| missing_image(&sandbox.spec, error))?;
        let lease = store.lease(&image)?;
        let checked = store.check_with(&image, verify_mode(options.verify))?;
        warnings.extend(tree_notice(&checked));
        Ok(Some((image, lease)))
    }
}

/// Returns the error of a sandbox whose image is not in the store, with the name by which it can be had
/// again. A digest alone does not say where.
pub(crate) fn missing_image(spec: &Spec, error: FindError) -> Error {
    if !matches!(error, FindError::NotFound { .. }) {
        return error.into();
    }
    let (name, digest) = (&spec.name, &spec.image_digest);
    let image = spec.image.parse::<Reference>().ok();
    // The image's name may have been its digest, or the beginning of that.
    let image = image.filter(|_| !is_digest(&spec.image));
    let pull = image.map(|image| {
        let named = image.familiar();
        let named = named
            .split_once('@')
            .map_or(named.as_str(), |(named, _)| named);
        format!("pull it again with msb pull {named}@{digest}, or ")
    });
    let hint = format!(
        "{}load it again from the archive that it came from with msb load",
        pull.unwrap_or_default()
    );
    let message = format!(
        "the image of sandbox {name}, {}, is not in the store",
        spec.image
    );
    Error::new(ErrorKind::ImageNotFound, msb_client::printable(&message))
        .with_detail("name", spec.image.as_str())
        .with_detail("digest", digest.as_str())
        .with_hint(hint)
}

/// Returns true if an image's name is a digest, or may be the beginning of one.
fn is_digest(name: &str) -> bool {
    let digits = name.strip_prefix("sha256:").unwrap_or(name);
    digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_image_is_pulled_by_its_name_and_not_by_a_digest_alone() {
        let digest = format!("sha256:{}", "9e".repeat(32));
        let hint = |image: &str| {
            let spec = spec(image, &digest);
            let name = digest.clone();
            missing_image(&spec, FindError::NotFound { name }).hint()
        };
        let load = "load it again from the archive that it came from with msb load";
        let pulled = |name: &str| {
            Some(format!(
                "pull it again with msb pull {name}@{digest}, or {load}"
            ))
        };
        assert_eq!(hint("python:3-slim"), pulled("python:3-slim"));
        assert_eq!(
            hint("localhost:5000/app"),
            pulled("localhost:5000/app:latest")
        );
        assert_eq!(hint(&format!("app:1@{digest}")), pulled("app:1"));
        for name in [digest.as_str(), "9e9e9e9e9e9e", "not a name"] {
            assert_eq!(hint(name).as_deref(), Some(load));
        }
    }

    fn spec(image: &str, image_digest: &str) -> Spec {
        serde_json::from_value(serde_json::json!({
            "id": "0123456789ab", "name": "web", "image": image, "image_digest": image_digest,
            "created_s": 1, "cpus": 1, "memory_mib": 64, "upper_bytes": 0,
            "remove_when_stopped": false,
            "process": {
                "argv": [], "env": [], "working_directory": "", "user": "", "terminal": false,
                "stdin": false,
            },
        }))
        .expect("a description")
    }

    #[test]
    fn a_command_that_did_not_run_has_the_exit_code_of_its_reason() {
        let error = not_run(127, "no such\nprogram");
        assert_eq!(error.kind(), ErrorKind::CommandNotFound);
        assert_eq!(error.exit_code(), 127);
        assert_eq!(error.message(), "no such\\nprogram");
        assert!(error.hints_for(crate::Face::CommandLine).is_empty());
        let option = not_run(127, "--rm: command not found in the image");
        assert_eq!(
            option.hints_for(crate::Face::CommandLine),
            [AN_OPTION_IS_NO_PROGRAM]
        );
        assert_eq!(not_run(126, "").kind(), ErrorKind::NotExecutable);
        assert_eq!(not_run(125, "").kind(), ErrorKind::CommandError);
    }
}
