use std::io;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use image_store::StoredImage;
use msb_agent_protocol::{Event, Exec, ExitStatus, Failure as Refusal, FailureKind, Input};
use msb_runtime::{Lock, Place, Running, Sandbox, VmmCommand};
use msb_vmm::{Choice, Vmm, choose};
use msb_vmm_krun::Krun;
use msb_vmm_qemu::Qemu;
use tokio::io::{AsyncWriteExt as _, Stderr, Stdout};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::Context;
use super::run::VmmName;
use crate::failure::{
    EXIT_MSB_FAILED, EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND, Failure, Outcome, Vanished,
};
use crate::output;
use crate::terminal::{self, RawTerminal};

/// What starting a sandbox needs besides the sandbox.
pub(crate) struct Start<'a> {
    pub(crate) context: &'a Context,
    /// The image, checked.
    pub(crate) image: &'a StoredImage,
    pub(crate) vmm: VmmName,
    pub(crate) boot_limit: Duration,
}

/// Every VMM of this build.
pub(crate) struct Backends {
    krun: Krun,
    qemu: Qemu,
}

impl Backends {
    /// As the environment sets them up.
    pub(crate) fn from_environment() -> Self {
        Self {
            krun: Krun,
            qemu: Qemu::from_environment(),
        }
    }

    /// The preferred one first.
    pub(crate) fn all(&self) -> [&dyn Vmm; 2] {
        [&self.krun, &self.qemu]
    }
}

/// Starts the sandbox, runs `exec` in it with this process's streams, and shuts it down.
pub(crate) async fn start_and_attach(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
    exec: Exec,
) -> Outcome {
    let choice = match start.vmm {
        VmmName::Auto => Choice::Auto,
        VmmName::Krun => Choice::Krun,
        VmmName::Qemu => Choice::Qemu,
    };
    let backends = Backends::from_environment();
    let all = backends.all();
    let selection = choose(choice, &all)?;
    if let Some(notice) = &selection.notice
        && !start.context.quiet
    {
        output::notice(notice);
    }
    let place = Place {
        home: start.context.home.clone(),
        image: start.image.clone(),
        vmm: selection.vmm.name(),
        vmm_command: this_program()?,
        msb_kernel: std::env::var_os("MSB_KERNEL"),
        boot_limit: start.boot_limit,
        end_with_owner: true,
    };
    let running = sandbox
        .start(lock, &place)
        .await
        .context("cannot start the sandbox")?;
    let code = attach(&running, exec).await;
    let ended = running.shutdown().await;
    let code = code?;
    ended.context("the command ended, but the sandbox did not shut down cleanly")?;
    Ok(code)
}

fn this_program() -> Result<VmmCommand, Failure> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    Ok(VmmCommand {
        program,
        arguments: vec!["vmm".into()],
    })
}

/// Joins this process's streams and signals to a command in the sandbox until it ends.
async fn attach(running: &Running, exec: Exec) -> Outcome {
    let has_terminal = exec.terminal.is_some();
    let wants_stdin = exec.stdin;
    let session = running
        .exec(exec)
        .await
        .context("cannot reach the sandbox")?;
    let raw = (has_terminal && terminal::stdin_is_terminal())
        .then(RawTerminal::enter)
        .transpose()?;
    let (mut inputs, mut events) = session.split();
    let (sender, mut pending) = mpsc::channel(4);
    if wants_stdin {
        let sender = sender.clone();
        std::thread::spawn(move || forward_stdin(&sender));
    }
    tokio::spawn(forward_signals(sender, has_terminal));
    tokio::spawn(async move {
        while let Some(input) = pending.recv().await {
            // The command may end before it has read everything.
            if inputs.send(&input).await.is_err() {
                return;
            }
        }
    });
    let mut streams = Streams {
        stdout: tokio::io::stdout(),
        stderr: tokio::io::stderr(),
    };
    let outcome = loop {
        match events.next().await {
            Ok(Some(event)) => match streams.handle(event).await {
                Ok(None) => {}
                Ok(Some(code)) => break Ok(code),
                Err(failure) => break Err(failure),
            },
            // How the connection broke says only how it was noticed.
            Ok(None) | Err(_) => break Err(vanished(running)),
        }
    };
    drop(raw);
    outcome
}

fn vanished(running: &Running) -> Failure {
    Vanished {
        last_words: running.last_words(),
    }
    .into()
}

/// Where a command's output goes.
struct Streams {
    stdout: Stdout,
    stderr: Stderr,
}

impl Streams {
    /// Passes output on; gives the exit code once there is one.
    async fn handle(&mut self, event: Event) -> Result<Option<u8>, Failure> {
        match event {
            Event::Stdout(bytes) => {
                self.stdout.write_all(&bytes).await?;
                self.stdout.flush().await?;
            }
            Event::Stderr(bytes) => {
                self.stderr.write_all(&bytes).await?;
                self.stderr.flush().await?;
            }
            Event::Exited(ExitStatus::Code(code)) => return Ok(Some(code)),
            Event::Exited(ExitStatus::Signal(signal)) => {
                return Ok(Some(128_u8.saturating_add(signal)));
            }
            Event::Failed(refusal) => return Err(refused(refusal)),
            Event::Started { .. } | Event::Info(_) | Event::ShuttingDown => {}
        }
        Ok(None)
    }
}

fn refused(refusal: Refusal) -> Failure {
    let exit_code = match refusal.kind {
        FailureKind::CommandNotFound => EXIT_NOT_FOUND,
        FailureKind::CommandNotExecutable => EXIT_NOT_EXECUTABLE,
        FailureKind::BadRequest | FailureKind::VersionMismatch | FailureKind::Guest => {
            EXIT_MSB_FAILED
        }
    };
    Failure::with_exit_code(anyhow!(refusal.message), exit_code)
}

/// Reads standard input to its end. A thread of its own: such a read cannot be cancelled.
fn forward_stdin(sender: &mpsc::Sender<Input>) {
    let mut stdin = io::stdin().lock();
    let mut chunk = vec![0; msb_agent_protocol::CHUNK_MAX_BYTES];
    loop {
        let input = match io::Read::read(&mut stdin, &mut chunk) {
            Ok(0) => Input::StdinEnd,
            Ok(length) => Input::Stdin(chunk[..length].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => Input::StdinEnd,
        };
        let last = input == Input::StdinEnd;
        if sender.blocking_send(input).is_err() || last {
            return;
        }
    }
}

/// Sends the signals that this process gets to the command, and the terminal's new sizes.
async fn forward_signals(sender: mpsc::Sender<Input>, has_terminal: bool) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut resized = signal(SignalKind::window_change())?;
    loop {
        let input = tokio::select! {
            _ = interrupt.recv() => Input::Signal(SignalKind::interrupt().as_raw_value()),
            _ = terminate.recv() => Input::Signal(SignalKind::terminate().as_raw_value()),
            _ = hangup.recv() => Input::Signal(SignalKind::hangup().as_raw_value()),
            _ = quit.recv() => Input::Signal(SignalKind::quit().as_raw_value()),
            _ = resized.recv() => Input::Resize(terminal::size()),
        };
        if matches!(input, Input::Resize(_)) && !has_terminal {
            continue;
        }
        if sender.send(input).await.is_err() {
            return Ok(());
        }
    }
}
