//! The start of a sandbox's machine.

use std::sync::Arc;
use std::time::Duration;

use image_store::{ImageLease, StoredImage};
use msb_jail::Strictness;
use msb_runtime::{
    Exit, Lock, Mark, Mount, Running, Sandbox as StoredSandbox, StartError,
    StartOptions as MachineOptions,
};

use super::create::{verify_mode, vmm_choice};
use super::owner::own_options;
use crate::operation::blocking;
use crate::shared::Shared;
use crate::vmm::{self, Backends};
use crate::{Error, ErrorKind, Notice, StartOptions, TerminalSize};

/// The time that a guest may take to answer, unless the caller gives another.
const BOOT_TIMEOUT: Duration = Duration::from_secs(120);
/// The notice for a guest with a writable host directory that libkrun serves itself.
const KRUN_WRITES: &str = "root in this guest can change modes and times of your other files too, \
    not their contents: libkrun judges no names in a directory that may be written; --vmm qemu does";

/// The parameters of a start, besides the right to it.
pub(super) struct Start<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) sandbox: &'a StoredSandbox,
    /// The image, which has been verified; `None` if the root is a disk image.
    pub(super) image: Option<&'a StoredImage>,
    pub(super) options: &'a StartOptions,
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
        let jail = settings.strictness();
        if jail == Strictness::Off {
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
            vmm_command: vmm::command(program, self.shared),
            msb_kernel: kernel.map(std::path::PathBuf::into_os_string),
            boot_timeout: timeout.unwrap_or(BOOT_TIMEOUT),
            attached: self.options.wait_for_attach,
            window: self.window.map(|size| (size.rows.into(), size.cols.into())),
            owner: self.is_owned.then(own_options),
            jail,
            timeline: self.shared.timeline().clone(),
        };
        let running = self.sandbox.start(lock, &options).await;
        Ok(Booted {
            running: running.map_err(BootError::Machine)?,
            warnings,
        })
    }
}

/// The failure of a boot: of the machine itself, or of what comes before.
enum BootError {
    Machine(StartError),
    Other(Error),
}

/// Returns the error of a main command that could not be run, by its exit code.
fn not_run(code: u8, error: &str) -> Error {
    let kind = match code {
        127 => ErrorKind::CommandNotFound,
        126 => ErrorKind::NotExecutable,
        _ => ErrorKind::CommandError,
    };
    Error::new(kind, crate::error::printable(error)).with_exit_code(code)
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
    pub(super) _lease: Option<ImageLease>,
}

impl Ready {
    /// Leases and verifies the image of a stopped sandbox, and takes the right to start it.
    pub(super) fn check(
        shared: &Shared,
        sandbox: &StoredSandbox,
        options: &StartOptions,
    ) -> Result<Self, Error> {
        let (image, lease) = Self::leased_image(shared, sandbox, options)?.unzip();
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
            .with_hint(format!("run a command in it with msb exec {name}"))
        })?;
        Ok(Self {
            sandbox,
            image,
            lock,
            _lease: lease,
        })
    }
}

impl Ready {
    /// Leases and verifies the image of a sandbox; `None` if its root is a disk image.
    fn leased_image(
        shared: &Shared,
        sandbox: &StoredSandbox,
        options: &StartOptions,
    ) -> Result<Option<(StoredImage, ImageLease)>, Error> {
        if sandbox.spec.root_disk.is_some() {
            return Ok(None);
        }
        let store = shared.store()?;
        let image = store.find(&sandbox.spec.image_digest)?;
        let lease = store.lease(&image)?;
        store.check_with(&image, verify_mode(options.verify))?;
        Ok(Some((image, lease)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_did_not_run_has_the_exit_code_of_its_reason() {
        let error = not_run(127, "no such\nprogram");
        assert_eq!(error.kind(), ErrorKind::CommandNotFound);
        assert_eq!(error.exit_code(), 127);
        assert_eq!(error.message(), "no such\\nprogram");
        assert_eq!(not_run(126, "").kind(), ErrorKind::NotExecutable);
        assert_eq!(not_run(125, "").kind(), ErrorKind::CommandError);
    }
}
