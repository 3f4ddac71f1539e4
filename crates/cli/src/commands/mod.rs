//! One file a subcommand: what was typed, and what is called for it.

pub(crate) mod attach;
pub(crate) mod bench;
pub(crate) mod budget;
pub(crate) mod completion;
pub(crate) mod cp;
pub(crate) mod create;
pub(crate) mod df;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod fs;
pub(crate) mod guest;
mod guest_limits;
pub(crate) mod image;
pub(crate) mod images;
pub(crate) mod inspect;
pub(crate) mod jobs;
pub(crate) mod kill;
pub(crate) mod limits;
pub(crate) mod load;
pub(crate) mod logs;
pub(crate) mod machine;
pub(crate) mod network;
pub(crate) mod patches;
pub(crate) mod port;
pub(crate) mod process;
pub(crate) mod prune;
pub(crate) mod ps;
pub(crate) mod pull;
pub(crate) mod rename;
pub(crate) mod restart;
pub(crate) mod rm;
pub(crate) mod run;
pub(crate) mod share;
pub(crate) mod start;
pub(crate) mod stats;
pub(crate) mod stop;
pub(crate) mod stopping;
pub(crate) mod text_log;
pub(crate) mod update;
pub(crate) mod verify;
pub(crate) mod version;
pub(crate) mod vmm;
pub(crate) mod volume;
pub(crate) mod wait;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use image_store::{Digest, Store};
use msb_runtime::{Home, Sandbox, SandboxFiles, Timeline};

use crate::args::{Arguments, Command, GlobalArguments};
use crate::failure::{Failure, Failures, Outcome};
use crate::output;

/// What every command works on.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) home: Home,
    pub(crate) quiet: bool,
    /// How far a start is.
    pub(crate) timeline: Timeline,
}

impl Context {
    fn new(global: &GlobalArguments, timeline: Timeline) -> Result<Self, Failure> {
        let default = || std::env::home_dir().map(|home| home.join(".msb"));
        let root = global
            .home
            .clone()
            .or_else(default)
            .ok_or_else(|| anyhow!("no home directory: set MSB_HOME"))?;
        // Sandboxes are run by processes that may stand elsewhere.
        let root: PathBuf = std::path::absolute(&root)
            .with_context(|| format!("cannot use {} as MSB_HOME", root.display()))?;
        check_home(&root)?;
        Ok(Self {
            home: Home::new(root),
            quiet: global.quiet,
            timeline,
        })
    }

    pub(crate) fn store(&self) -> Result<Store, Failure> {
        Ok(Store::open(self.home.root())?)
    }

    /// The sandbox of this name or id.
    pub(crate) fn sandbox(&self, name: &str) -> Result<Sandbox, Failure> {
        Sandbox::find(&self.home, name)?.ok_or_else(|| anyhow!("no such sandbox: {name}").into())
    }

    /// Does something with each of the sandboxes named, and prints the name of each that it was
    /// done with. What fails for one is said, and does not keep the others from it.
    pub(crate) async fn each(
        &self,
        names: &[String],
        act: impl AsyncFn(Sandbox) -> Result<(), Failure>,
    ) -> Outcome {
        let mut failures = Failures::default();
        for name in names {
            let done = match self.sandbox(name) {
                Ok(sandbox) => act(sandbox).await,
                Err(failure) => Err(failure),
            };
            if names.len() == 1 {
                done?;
                output::print(&format!("{name}\n"))?;
            } else if failures.note(done).is_some() {
                output::print(&format!("{name}\n"))?;
            }
        }
        Ok(failures.code)
    }

    /// The files of the sandbox of this name or id.
    pub(crate) async fn files(&self, name: &str) -> Result<SandboxFiles, Failure> {
        Ok(self.sandbox(name)?.files(&self.home).await?)
    }

    /// Says whether a sandbox, running or not, is one of an image.
    pub(crate) fn needed(&self) -> impl Fn(&Digest) -> std::io::Result<bool> + '_ {
        |digest| Sandbox::any_of(&self.home, &digest.to_string())
    }
}

/// Machines are described as text, and VMMs are told the paths of their disks so.
fn check_home(root: &Path) -> anyhow::Result<()> {
    match root.to_str() {
        Some(_) => Ok(()),
        None => Err(anyhow!(
            "cannot use '{}' as MSB_HOME: the path is not UTF-8; choose another directory",
            root.as_os_str().as_encoded_bytes().escape_ascii()
        )),
    }
}

/// Runs the command that was typed.
pub(crate) fn run(arguments: Arguments, timeline: Timeline) -> Outcome {
    let context = Context::new(&arguments.global, timeline)?;
    dispatch(&context, arguments.command).map_err(|failure| failure.in_home(context.home.root()))
}

fn dispatch(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Pull(arguments) => block_on(pull::run(context, &arguments)),
        Command::Load(arguments) => block_on(load::run(context, &arguments)),
        Command::Run(arguments) => {
            Sandbox::sweep(&context.home)?;
            block_on(run::run(context, &arguments))
        }
        Command::Create(arguments) => {
            Sandbox::sweep(&context.home)?;
            block_on(create::run(context, &arguments))
        }
        Command::Attach(arguments) => block_on(attach::run(context, &arguments)),
        Command::Restart(arguments) => block_on(restart::run(context, &arguments)),
        Command::Rename(arguments) => rename::run(context, &arguments),
        Command::Port(arguments) => port::run(context, &arguments),
        Command::Inspect(arguments) => inspect::run(context, &arguments),
        Command::Jobs(arguments) => jobs::run(context, &arguments),
        Command::Start(arguments) => block_on(start::run(context, &arguments)),
        Command::Exec(arguments) => block_on(exec::run(context, &arguments)),
        Command::Stop(arguments) => block_on(stop::run(context, &arguments)),
        Command::Kill(arguments) => block_on(kill::run(context, &arguments)),
        Command::Wait(arguments) => block_on(wait::run(context, &arguments)),
        Command::Logs(arguments) => block_on(logs::run(context, &arguments)),
        Command::Cp(arguments) => block_on(cp::run(context, &arguments)),
        Command::Fs(arguments) => block_on(fs::run(context, &arguments)),
        Command::Stats(arguments) => block_on(stats::run(context, &arguments)),
        Command::Update(arguments) => block_on(update::run(context, &arguments)),
        Command::Ps(arguments) => {
            Sandbox::sweep(&context.home)?;
            ps::run(context, &arguments)
        }
        Command::Ls(arguments) => {
            Sandbox::sweep(&context.home)?;
            ps::run_all(context, &arguments)
        }
        Command::Rm(arguments) => block_on(rm::run(context, &arguments)),
        Command::Images(arguments) => images::run(context, &arguments),
        Command::Image(arguments) => image::run(context, &arguments),
        Command::Volume(arguments) => volume::run(context, &arguments),
        Command::Prune(arguments) => prune::run(context, &arguments),
        Command::Df(arguments) => df::run(context, &arguments),
        Command::Doctor(arguments) => doctor::run(context, &arguments),
        Command::Bench(benchmark) => bench::run(context, benchmark),
        Command::Version(arguments) => version::run(&arguments),
        Command::Completion(arguments) => completion::run(&arguments),
        Command::Limits(_) => limits::run(),
        Command::Vmm(arguments) => vmm::run(context, &arguments),
        Command::Network(arguments) => network::run(&arguments),
        Command::Share(arguments) => share::run(&arguments),
    }
}

/// Runs a future to its end. A thread that still waits for standard input is left behind.
pub(crate) fn block_on(future: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(future);
    runtime.shutdown_background();
    outcome
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn a_home_whose_path_is_no_text_is_refused() {
        check_home(Path::new("/home/ä/.msb")).expect("text");
        let refused = check_home(Path::new(OsStr::from_bytes(b"/home/\xff")));
        let message = refused.expect_err("no text").to_string();
        assert!(message.contains("/home/\\xff") && message.contains("UTF-8"));
    }
}
