//! The dispatch of the command that was typed.

use msb_machine_records::Timeline;

use crate::args::{Arguments, Command, ContainerCommand, SandboxCommand, SystemCommand};
use crate::commands::{
    Context, allow, apply, asks, attach, bench, block_on, command_history, commit, completion,
    container_prune, cp, create, df, diff, discard, doctor, exec, fork, fs, image, images, inspect,
    jobs, kill, limits, load, login, logout, logs, maintain, man, mcp, network, network_rules,
    pause, port, prune, ps, pull, push, rename, restage, restart, rm, rollback, run, save, secret,
    share, snapshot, sockets, ssh, start, stats, stop, system_prune, tag, top, undo, update,
    version, vmm, volume, wait,
};
use crate::{args, environment, memory_limit};
use msb_terminal::failure::Outcome;

/// Runs the command that was typed.
pub(crate) fn run(arguments: Arguments, timeline: Timeline) -> Outcome {
    environment::check()?;
    let global = &arguments.global;
    let context = Context::new(global.home.as_deref(), global.quiet, timeline)?;
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
            | Command::Secrets(_)
            | Command::Sockets(_)
    )
}

/// Returns true if a command reads the disks of sandboxes, whose guests may have written any block of
/// them.
const fn reads_disks(command: &Command) -> bool {
    if let Command::History(arguments) = command {
        return arguments.reads_disks();
    }
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
            | SandboxCommand::Restage(_)
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
        Command::History(arguments) => block_on(command_history::run(context, &arguments)),
        Command::Images(arguments) => block_on(images::run(context, &arguments)),
        Command::Image(arguments) => block_on(image::run(context, &arguments)),
        Command::Rmi(arguments) => block_on(image::remove(context, &arguments)),
        Command::Volume(arguments) => block_on(volume::run(context, &arguments)),
        Command::Prune(arguments) => block_on(prune::run(context, &arguments)),
        Command::Df(arguments) => block_on(df::run(context, &arguments)),
        Command::Doctor(arguments) => block_on(doctor::run(context, &arguments)),
        Command::Bench(arguments) => bench::run(context, &arguments),
        Command::Mcp(arguments) => block_on(mcp::run(context, &arguments)),
        Command::Ssh(arguments) => block_on(ssh::run(context, &arguments)),
        Command::SshConfig(arguments) => ssh::configure(context, &arguments),
        Command::SshProxy(arguments) => block_on(ssh::serve(context, &arguments)),
        Command::Version(arguments) => version::run(context, &arguments),
        Command::Completion(arguments) => completion::run(&arguments),
        Command::Limits(_) => limits::run(),
        Command::Man(arguments) => man::run(&arguments, args::ordered()),
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
        Command::Secrets(arguments) => secret::refresh(&arguments),
        Command::Sockets(arguments) => sockets::run(&arguments),
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
        SandboxCommand::Allow(arguments) => block_on(allow::run(context, &arguments)),
        SandboxCommand::Asks(arguments) => block_on(asks::run(context, &arguments)),
        SandboxCommand::Network(arguments) => block_on(network_rules::run(context, &arguments)),
        SandboxCommand::Secret(arguments) => block_on(secret::run(context, &arguments)),
        SandboxCommand::Restage(arguments) => block_on(restage::run(context, &arguments)),
        SandboxCommand::Snapshot(arguments) => block_on(snapshot::run(context, &arguments)),
        SandboxCommand::Fork(arguments) => block_on(fork::run(context, &arguments)),
        SandboxCommand::Rollback(arguments) => block_on(rollback::run(context, &arguments)),
        SandboxCommand::Undo(arguments) => block_on(undo::run(context, &arguments)),
        SandboxCommand::Fs(arguments) => block_on(fs::run(context, &arguments)),
        SandboxCommand::Stats(arguments) => block_on(stats::run(context, &arguments)),
        SandboxCommand::Update(arguments) => block_on(update::run(context, &arguments)),
        SandboxCommand::Ps(arguments) => block_on(ps::run(context, &arguments)),
        SandboxCommand::Ls(arguments) => block_on(ps::run_all(context, &arguments)),
        SandboxCommand::Rm(arguments) => block_on(rm::run(context, &arguments)),
    }
}
