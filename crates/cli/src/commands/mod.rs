//! The commands, one file for each: its arguments and its action.

pub(crate) mod apply;
pub(crate) mod attach;
pub(crate) mod bench;
pub(crate) mod commit;
pub(crate) mod completion;
pub(crate) mod container_prune;
pub(crate) mod cp;
pub(crate) mod create;
pub(crate) mod df;
pub(crate) mod diff;
pub(crate) mod discard;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod fork;
pub(crate) mod fs;
pub(crate) mod guest;
mod guest_limits;
pub(crate) mod history;
mod id_file;
pub(crate) mod image;
pub(crate) mod images;
pub(crate) mod inspect;
pub(crate) mod jobs;
pub(crate) mod kill;
pub(crate) mod limits;
pub(crate) mod load;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod logs;
pub(crate) mod machine;
pub(crate) mod maintain;
pub(crate) mod man;
pub(crate) mod network;
pub(crate) mod patches;
mod patterns;
pub(crate) mod pause;
pub(crate) mod port;
pub(crate) mod process;
pub(crate) mod prune;
pub(crate) mod ps;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod rename;
mod resources;
pub(crate) mod restart;
pub(crate) mod rm;
pub(crate) mod rollback;
pub(crate) mod run;
pub(crate) mod save;
pub(crate) mod share;
pub(crate) mod snapshot;
pub(crate) mod start;
pub(crate) mod stats;
pub(crate) mod stop;
pub(crate) mod stopping;
pub(crate) mod system_prune;
pub(crate) mod tag;
pub(crate) mod top;
pub(crate) mod update;
pub(crate) mod verify;
pub(crate) mod version;
pub(crate) mod vmm;
pub(crate) mod volume;
pub(crate) mod wait;

use std::path::Path;

use anyhow::Context as _;
use msb_runtime::{Home, Timeline};
use msb_sdk::{Files, Msb, Notice, Operation};

pub(crate) use self::machine::{VerifyPolicy, VmmName};
use crate::args::{
    Arguments, Command, ContainerCommand, GlobalArguments, SandboxCommand, SystemCommand,
};
use crate::environment;
use crate::failure::{Failure, Failures, Outcome};
use crate::signals::Interrupts;
use crate::{memory_limit, output, reminder};

/// The context of every command.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) home: Home,
    pub(crate) msb: Msb,
    pub(crate) quiet: bool,
    /// The timeline of a start, for measurements.
    pub(crate) timeline: Timeline,
    pub(crate) interrupts: Interrupts,
}

impl Context {
    fn new(global: &GlobalArguments, timeline: Timeline) -> Result<Self, Failure> {
        let msb = client(global.home.as_deref(), &timeline)?;
        Ok(Self {
            home: Home::new(msb.home()),
            msb,
            quiet: global.quiet,
            timeline,
            interrupts: Interrupts::default(),
        })
    }

    /// Makes the home inaccessible to other users of the host.
    fn close_home(&self) -> Outcome {
        block_on(async {
            self.msb.close_home().await?;
            self.print_notices(&self.msb.take_notices());
            Ok(0)
        })
    }

    /// Prints the notices of an operation, unless the user wants none.
    pub(crate) fn print_notices(&self, notices: &[Notice]) {
        let is_due = |notice: &&Notice| {
            notice.code != EMULATION_NOTICE || reminder::is_due(self.home.root(), EMULATION_NOTICE)
        };
        if !self.quiet {
            for notice in notices.iter().filter(is_due) {
                output::notice(&notice.message);
            }
        }
    }

    /// Runs an operation that a signal to this process cancels: what it has made until then is
    /// removed. `interrupted` is then the error.
    pub(crate) async fn cancellable<T>(
        &self,
        operation: Operation<T>,
        interrupted: impl FnOnce(u8) -> Failure,
    ) -> Result<T, Failure> {
        let outcome = tokio::select! {
            // Signals are polled first, so that none is missed.
            biased;
            code = self.interrupts.wait() => Err(interrupted(code)),
            outcome = operation => outcome.map_err(Into::into),
        };
        if outcome.is_err() {
            self.msb.settled().await?;
        }
        outcome
    }

    /// Returns the handle of the sandbox with this name or id.
    pub(crate) async fn handle(&self, name: &str) -> Result<msb_sdk::Sandbox, Failure> {
        Ok(self.msb.sandboxes().get(name).await?)
    }

    /// Applies `act` to each of the named sandboxes. Prints the names of those for which it
    /// succeeded. A failure is reported, and the other sandboxes are still processed.
    pub(crate) async fn each(
        &self,
        names: &[String],
        act: impl AsyncFn(msb_sdk::Sandbox) -> Result<(), Failure>,
    ) -> Outcome {
        let found = async |name: &str| {
            act(self.handle(name).await?).await?;
            Ok(true)
        };
        self.each_name(names, found).await
    }

    /// Applies `act` to each name, which may not be a sandbox's. Prints the names for which `act`
    /// returns true.
    pub(crate) async fn each_name(
        &self,
        names: &[String],
        act: impl AsyncFn(&str) -> Result<bool, Failure>,
    ) -> Outcome {
        let mut failures = Failures::default();
        for name in names {
            let done = act(name).await;
            let done = match names.len() {
                1 => Some(done?),
                _ => failures.note(done),
            };
            if done == Some(true) {
                output::print(&format!("{name}\n"))?;
            }
        }
        Ok(failures.code)
    }

    /// Returns access to the files of the sandbox with this name or id.
    pub(crate) async fn files(&self, name: &str) -> Result<Files, Failure> {
        let (sandbox, snapshot) = snapshot::split(name);
        let sandbox = self.handle(sandbox).await?;
        let files = match snapshot {
            Some(snapshot) => sandbox.snapshots().files(snapshot),
            None => sandbox.files(),
        };
        Ok(files.at_root())
    }
}

/// The code of the notice that hardware virtualisation is missing, and the name of its reminder.
const EMULATION_NOTICE: &str = "emulation";

/// Returns the client of the home, whose machines this program runs itself. Without a path, the home
/// is the default one.
fn client(home: Option<&Path>, timeline: &Timeline) -> anyhow::Result<Msb> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut builder = Msb::builder().own_program(program);
    if let Some(home) = home {
        builder = builder.home(home);
    }
    if let Some(timeline) = timeline.path() {
        builder = builder.timeline(timeline);
    }
    Ok(builder.build()?)
}

/// Runs the command that was typed.
pub(crate) fn run(arguments: Arguments, timeline: Timeline) -> Outcome {
    environment::check()?;
    let context = Context::new(&arguments.global, timeline)?;
    if uses_home(&arguments.command) {
        context.close_home()?;
    }
    let outcome = dispatch(&context, arguments.command);
    // Those of a command that failed are printed before its error.
    context.print_notices(&context.msb.take_notices());
    outcome.map_err(|failure| failure.in_home(context.home.root()))
}

/// Returns true if a command uses the home, and so has to close it first. The processes of a
/// machine are started by a command that has done so, and the doctor reports the home's state.
const fn uses_home(command: &Command) -> bool {
    !matches!(
        command,
        Command::Doctor(_)
            | Command::Version(_)
            | Command::Completion(_)
            | Command::Limits(_)
            | Command::Man(_)
            | Command::Vmm(_)
            | Command::Network(_)
            | Command::Share(_)
    )
}

/// Returns true if a command reads the disks of sandboxes, whose guests may have written any block of
/// them.
const fn reads_disks(command: &Command) -> bool {
    let (Command::Sandbox(command) | Command::Container(ContainerCommand::Sandbox(command))) =
        command
    else {
        return false;
    };
    matches!(
        command,
        SandboxCommand::Diff(_)
            | SandboxCommand::Apply(_)
            | SandboxCommand::Commit(_)
            | SandboxCommand::Discard(_)
            | SandboxCommand::Cp(_)
            | SandboxCommand::Fs(_)
    )
}

fn dispatch(context: &Context, command: Command) -> Outcome {
    if reads_disks(&command) {
        memory_limit::apply();
    }
    match command {
        Command::Pull(arguments) => block_on(pull::run(context, &arguments)),
        Command::Load(arguments) => block_on(load::run(context, &arguments)),
        Command::Push(arguments) => block_on(push::run(context, &arguments)),
        Command::Login(arguments) => block_on(login::run(context, &arguments)),
        Command::Logout(arguments) => block_on(logout::run(context, &arguments)),
        Command::Sandbox(command) => dispatch_sandbox(context, command),
        Command::Save(arguments) => block_on(save::run(context, &arguments)),
        Command::Tag(arguments) => block_on(tag::run(context, &arguments)),
        Command::History(arguments) => block_on(history::run(context, &arguments)),
        Command::Images(arguments) => block_on(images::run(context, &arguments)),
        Command::Image(arguments) => block_on(image::run(context, &arguments)),
        Command::Rmi(arguments) => block_on(image::remove(context, &arguments)),
        Command::Volume(arguments) => block_on(volume::run(context, &arguments)),
        Command::Prune(arguments) => block_on(prune::run(context, &arguments)),
        Command::Df(arguments) => block_on(df::run(context, &arguments)),
        Command::Doctor(arguments) => block_on(doctor::run(context, &arguments)),
        Command::Bench(arguments) => bench::run(context, &arguments),
        Command::Version(arguments) => version::run(context, &arguments),
        Command::Completion(arguments) => completion::run(&arguments),
        Command::Limits(_) => limits::run(),
        Command::Man(arguments) => man::run(&arguments),
        Command::Container(ContainerCommand::Prune(arguments)) => {
            block_on(container_prune::run(context, &arguments))
        }
        // `docker container ls` is `docker ps`.
        Command::Container(ContainerCommand::Sandbox(SandboxCommand::Ls(arguments))) => {
            dispatch_sandbox(context, SandboxCommand::Ps(arguments))
        }
        Command::Container(ContainerCommand::Sandbox(command)) => {
            dispatch_sandbox(context, command)
        }
        Command::System(SystemCommand::Df(arguments)) => block_on(df::run(context, &arguments)),
        Command::System(SystemCommand::Prune(arguments)) => {
            block_on(system_prune::run(context, &arguments))
        }
        Command::Vmm(arguments) => vmm::run(context, &arguments),
        Command::Network(arguments) => network::run(&arguments),
        Command::Share(arguments) => share::run(&arguments),
        Command::Maintain(arguments) => block_on(maintain::run(context, &arguments)),
    }
}

fn dispatch_sandbox(context: &Context, command: SandboxCommand) -> Outcome {
    match command {
        SandboxCommand::Run(arguments) => block_on(run::run(context, &arguments)),
        SandboxCommand::Create(arguments) => block_on(create::run(context, &arguments)),
        SandboxCommand::Attach(arguments) => block_on(attach::run(context, &arguments)),
        SandboxCommand::Restart(arguments) => block_on(restart::run(context, &arguments)),
        SandboxCommand::Rename(arguments) => block_on(rename::run(context, &arguments)),
        SandboxCommand::Port(arguments) => block_on(port::run(context, &arguments)),
        SandboxCommand::Inspect(arguments) => block_on(inspect::run(context, &arguments)),
        SandboxCommand::Jobs(arguments) => block_on(jobs::run(context, &arguments)),
        SandboxCommand::Start(arguments) => block_on(start::run(context, &arguments)),
        SandboxCommand::Exec(arguments) => block_on(exec::run(context, &arguments)),
        SandboxCommand::Stop(arguments) => block_on(stop::run(context, &arguments)),
        SandboxCommand::Kill(arguments) => block_on(kill::run(context, &arguments)),
        SandboxCommand::Pause(arguments) => block_on(pause::run(context, &arguments)),
        SandboxCommand::Unpause(arguments) => block_on(pause::unpause(context, &arguments)),
        SandboxCommand::Wait(arguments) => block_on(wait::run(context, &arguments)),
        SandboxCommand::Logs(arguments) => block_on(logs::run(context, &arguments)),
        SandboxCommand::Top(arguments) => block_on(top::run(context, arguments)),
        SandboxCommand::Cp(arguments) => block_on(cp::run(context, &arguments)),
        SandboxCommand::Diff(arguments) => block_on(diff::run(context, &arguments)),
        SandboxCommand::Apply(arguments) => block_on(apply::run(context, &arguments)),
        SandboxCommand::Commit(arguments) => block_on(commit::run(context, &arguments)),
        SandboxCommand::Discard(arguments) => block_on(discard::run(context, &arguments)),
        SandboxCommand::Snapshot(arguments) => block_on(snapshot::run(context, &arguments)),
        SandboxCommand::Fork(arguments) => block_on(fork::run(context, &arguments)),
        SandboxCommand::Rollback(arguments) => block_on(rollback::run(context, &arguments)),
        SandboxCommand::Fs(arguments) => block_on(fs::run(context, &arguments)),
        SandboxCommand::Stats(arguments) => block_on(stats::run(context, &arguments)),
        SandboxCommand::Update(arguments) => block_on(update::run(context, &arguments)),
        SandboxCommand::Ps(arguments) => block_on(ps::run(context, &arguments)),
        SandboxCommand::Ls(arguments) => block_on(ps::run_all(context, &arguments)),
        SandboxCommand::Rm(arguments) => block_on(rm::run(context, &arguments)),
    }
}

/// Runs a future to its end. A thread that still reads standard input is abandoned.
pub(crate) fn block_on(future: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(future);
    runtime.shutdown_background();
    outcome
}
