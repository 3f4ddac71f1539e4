use anyhow::{Context as _, anyhow};
use image_store::{ImageLease, StoredImage};
use msb_runtime::{Lock, Mark, Sandbox};

use super::machine::{self, MachineArguments, Start};
use super::{Context, attach};
use crate::failure::{Failure, Outcome};

// Arguments of `msb start`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The sandbox boots from its disk as it was when it stopped, and runs its command again.\n\n\
    Examples:\n  \
    msb run -it --name work debian bash; msb start -ai work\n  \
    msb start web; msb logs -f web"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    machine: MachineArguments,
    /// Attach to the command until it ends, and exit with its exit code
    #[arg(short, long)]
    attach: bool,
    /// Pass standard input to a command that was created with -i
    #[arg(short, long)]
    interactive: bool,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    if !arguments.attach && !arguments.interactive {
        return context
            .each(&arguments.sandboxes, async |sandbox| {
                start(context, &sandbox, &arguments.machine).await
            })
            .await;
    }
    let [name] = arguments.sandboxes.as_slice() else {
        return Err(anyhow!("-a and -i can be used with one sandbox alone").into());
    };
    let found = context.sandbox(name)?;
    let Ready {
        sandbox,
        image,
        lock,
        _lease,
    } = Ready::check(context, &found, &arguments.machine)?;
    if sandbox.spec.process.argv.is_empty() {
        return Err(
            anyhow!("cannot attach to sandbox {name}: it was created without a command").into(),
        );
    }
    let start = Start {
        context,
        image: &image,
        machine: &arguments.machine,
    };
    let takes_stdin = arguments.interactive && sandbox.spec.process.stdin;
    attach::start_and_attach(&start, &sandbox, lock, takes_stdin).await
}

/// Starts a sandbox without attaching to its main command.
pub(crate) async fn start(
    context: &Context,
    sandbox: &Sandbox,
    machine: &MachineArguments,
) -> Result<(), Failure> {
    let ready = Ready::check(context, sandbox, machine)?;
    let start = Start {
        context,
        image: &ready.image,
        machine,
    };
    machine::start_and_leave(&start, &ready.sandbox, ready.lock).await
}

/// A stopped sandbox that is ready to be started.
struct Ready {
    /// The sandbox, read again under the lock, so that no other process can change it.
    sandbox: Sandbox,
    image: StoredImage,
    lock: Lock,
    /// The lease that keeps the image until its machine has its own lease.
    _lease: ImageLease,
}

impl Ready {
    fn check(
        context: &Context,
        sandbox: &Sandbox,
        machine: &MachineArguments,
    ) -> Result<Self, Failure> {
        let store = context.store()?;
        let image = store.find(&sandbox.spec.image_digest)?;
        let lease = store.lease(&image)?;
        store.check_with(&image, machine.trust())?;
        context.timeline.mark(Mark::ImageChecked)?;
        let claimed = sandbox.claim();
        let claimed = claimed.with_context(|| format!("cannot start {}", sandbox.spec.name))?;
        let running = || anyhow!("sandbox {} is running", sandbox.spec.name);
        let (sandbox, lock) = claimed.ok_or_else(running)?;
        Ok(Self {
            sandbox,
            image,
            lock,
            _lease: lease,
        })
    }
}
