use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use fs_err as fs;
use image_store::{StoredImage, Trust};
use msb_agent_protocol::Client;
use msb_agent_protocol::v1::HelloReply;
use msb_jail::Strictness;
use msb_network::{Settings, check_published};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use super::create::now_s;
use super::running::last_words;
use super::{Lock, Parts, Running, Sandbox, StartError, upper};
use crate::boot::boot_disk;
use crate::keeper::Duties;
use crate::vmm_process::Errand;
use crate::volumes::Volume;
use crate::{Home, Kernel, Timeline, durable, socket, untrusted};

/// How to run the process that a machine runs in: this program and these arguments, the sandbox's
/// directory after them.
#[derive(Debug, Clone)]
pub struct VmmCommand {
    /// The program: as a rule the one that is running.
    pub program: PathBuf,
    /// Arguments before the directory.
    pub arguments: Vec<OsString>,
}

/// Where and how a sandbox is started.
#[derive(Debug, Clone)]
pub struct Place {
    /// Where everything is kept.
    pub home: Home,
    /// The image, checked.
    pub image: StoredImage,
    /// How well kernel and boot disk must prove themselves.
    pub trust: Trust,
    /// Which VMM.
    pub vmm: &'static str,
    /// The process to run it in.
    pub vmm_command: VmmCommand,
    /// Where the user says the kernel is (`MSB_KERNEL`).
    pub msb_kernel: Option<OsString>,
    /// How long the guest may take to answer.
    pub boot_limit: Duration,
    /// Whether the first command waits until somebody has attached to it.
    pub attached: bool,
    /// The rows and columns of the first command's terminal, where they are known.
    pub window: Option<(u32, u32)>,
    /// How strictly the machine's process is confined.
    pub jail: Strictness,
    /// Where it is noted how far the start is.
    pub timeline: Timeline,
}

impl Sandbox {
    /// Boots the sandbox and waits until its agent answers.
    ///
    /// # Errors
    /// No kernel, a machine that ends or stays silent. The machine is gone then, the upper is kept.
    pub async fn start(&self, lock: Lock, place: &Place) -> Result<Running, StartError> {
        upper::grow(&self.files, &self.spec).map_err(io_error("grow the writable disk"))?;
        let kernel = Kernel::find(&place.home, place.msb_kernel.as_deref(), place.trust)?;
        self.check_mounts(&place.home)?;
        let now_s = now_s();
        let parts = Parts {
            kernel: kernel.path,
            boot_disk: boot_disk(&place.home, place.trust)?,
            image_vmdk: place.image.vmdk.clone(),
            now_s,
        };
        let errand = Errand {
            machine: self.spec.machine(&place.home, &self.files, &parts),
            vmm: place.vmm.to_owned(),
            home: place.home.root().to_owned(),
            image_digest: self.spec.image_digest.clone(),
            started_s: now_s,
            duties: Duties {
                process: self.spec.process.clone(),
                attached: place.attached,
                window: place.window,
                restart: self.spec.restart,
                lifetime: self.spec.lifetime,
                stop_signal: self.spec.stopping.signal,
            },
            network: self.spec.network.clone(),
            volumes: self.spec.volumes(),
            jail: place.jail,
        };
        if let Some(network) = &self.spec.network {
            free_ports(network).await?;
        }
        let listener = self
            .prepare(&errand)
            .map_err(io_error("prepare the sandbox"))?;
        let mut child = self
            .spawn(lock, listener, &place.vmm_command)
            .map_err(io_error("start the process of the virtual machine"))?;
        match self.greet(&mut child, place).await {
            Ok((client, info)) => Ok(Running::new(self.clone(), child, client, info)),
            Err(error) => {
                // It may have ended by itself; either way it is gone afterwards.
                let _ = child.kill().await;
                Err(error)
            }
        }
    }

    /// Looks whether what it mounts is there and free. Its own process takes it.
    fn check_mounts(&self, home: &Home) -> Result<(), StartError> {
        for mount in &self.spec.mounts {
            mount.check()?;
        }
        for wanted in self.spec.volumes() {
            let volume = Volume::find(home, &wanted.volume)?;
            volume.check_free(home, &wanted, &self.spec.id)?;
        }
        Ok(())
    }

    fn prepare(&self, errand: &Errand) -> io::Result<UnixListener> {
        let json = serde_json::to_vec_pretty(errand)?;
        // What a power cut leaves of a sandbox that is to go is swept away.
        match self.spec.remove_when_stopped {
            true => durable::replace_bytes(&self.files.errand(), &json)?,
            false => durable::publish_bytes(&self.files.errand(), &json)?,
        }
        for stale in [
            self.files.socket(),
            self.files.pid(),
            self.files.ports(),
            self.files.console_log(),
            self.files.vmm_log(),
        ] {
            match fs::remove_file(stale) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        untrusted::clear(&self.files.exit())?;
        untrusted::clear(&self.files.jobs())?;
        match fs::create_dir(self.files.written()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        socket::bind(&self.files.socket())
    }

    /// The process begins with an empty environment. The listener travels as standard input and the lock as standard output, so that both live
    /// exactly as long as the machine's processes do.
    fn spawn(&self, lock: Lock, listener: UnixListener, command: &VmmCommand) -> io::Result<Child> {
        let log = File::create(self.files.vmm_log())?;
        Command::new(&command.program)
            .args(&command.arguments)
            .env_clear()
            .arg(&self.files.directory)
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::from(lock.0.into_parts().0))
            .stderr(Stdio::from(log))
            .process_group(0)
            .spawn()
    }

    /// Waits for the agent's first answer, the end of the process, or the limit.
    async fn greet(
        &self,
        child: &mut Child,
        place: &Place,
    ) -> Result<(Client, HelloReply), StartError> {
        let hello = async {
            let stream = socket::connect(&self.files.socket())
                .await
                .map_err(io_error("connect to the virtual machine's process"))?;
            let mut client = Client::connect(stream).await.map_err(StartError::Agent)?;
            let info = client.hello().await.map_err(StartError::Agent)?;
            place.timeline.mark_answer(&info)?;
            Ok((client, info))
        };
        tokio::select! {
            greeted = hello => match greeted {
                // A process that ends closes the socket too; its end says more.
                Err(StartError::Agent(error)) => match ended_soon(child).await {
                    Some(status) => Err(self.ended(status)),
                    None => Err(StartError::Agent(error)),
                },
                other => other,
            },
            status = child.wait() => match status {
                Ok(status) => Err(self.ended(status)),
                Err(source) => Err(StartError::Io { action: "wait for the virtual machine", source }),
            },
            () = tokio::time::sleep(place.boot_limit) => Err(StartError::Silent {
                limit_s: place.boot_limit.as_secs(),
                last_words: last_words(&self.files),
            }),
        }
    }

    fn ended(&self, status: ExitStatus) -> StartError {
        StartError::Ended {
            outcome: status.to_string(),
            last_words: last_words(&self.files),
        }
    }
}

/// Waits for a moment for ports that the sandbox's last machine is just leaving.
async fn free_ports(network: &Settings) -> Result<(), StartError> {
    let deadline = Instant::now() + PORTS_LIMIT;
    loop {
        match check_published(&network.publish) {
            Err(_) if Instant::now() < deadline => sleep(PORTS_INTERVAL).await,
            outcome => return Ok(outcome?),
        }
    }
}

/// How long a machine that has ended may keep its ports, and how often they are looked at.
const PORTS_LIMIT: Duration = Duration::from_millis(300);
const PORTS_INTERVAL: Duration = Duration::from_millis(20);

async fn ended_soon(child: &mut Child) -> Option<ExitStatus> {
    tokio::time::timeout(Duration::from_secs(2), child.wait())
        .await
        .ok()?
        .ok()
}

fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> StartError {
    move |source| StartError::Io { action, source }
}
