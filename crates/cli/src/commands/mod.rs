//! The commands, one file for each: its arguments and its action.

pub(crate) mod allow;
pub(crate) mod apply;
pub(crate) mod asks;
pub(crate) mod attach;
pub(crate) mod bench;
pub(crate) mod command_history;
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
mod history;
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
pub(crate) mod mcp;
pub(crate) mod network;
pub(crate) mod network_rules;
mod pack;
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
pub(crate) mod restage;
pub(crate) mod restart;
pub(crate) mod rm;
pub(crate) mod rollback;
mod rules;
pub(crate) mod run;
pub(crate) mod save;
pub(crate) mod secret;
pub(crate) mod share;
pub(crate) mod snapshot;
pub(crate) mod sockets;
pub(crate) mod ssh;
pub(crate) mod start;
pub(crate) mod stats;
pub(crate) mod stop;
pub(crate) mod stopping;
pub(crate) mod system_prune;
pub(crate) mod tag;
pub(crate) mod top;
pub(crate) mod undo;
pub(crate) mod update;
pub(crate) mod verify;
pub(crate) mod version;
pub(crate) mod vmm;
pub(crate) mod volume;
pub(crate) mod wait;

use std::path::Path;

use anyhow::Context as _;
use msb_machine_records::Timeline;
use msb_runtime::Home;
use msb_sdk::{Files, Msb, Notice, Operation};

pub(crate) use self::machine::{VerifyPolicy, VmmName};
use msb_terminal::failure::{Failure, Failures, Outcome};
use msb_terminal::output;
use msb_terminal::reminder;
use msb_terminal::signals::Interrupts;

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
    /// Returns the context of a home; the default one without a path.
    pub(crate) fn new(
        home: Option<&Path>,
        quiet: bool,
        timeline: Timeline,
    ) -> Result<Self, Failure> {
        let msb = client(home, &timeline)?;
        Ok(Self {
            home: Home::new(msb.home()),
            msb,
            quiet,
            timeline,
            interrupts: Interrupts::default(),
        })
    }

    /// Makes the home inaccessible to other users of the host.
    pub(crate) fn close_home(&self) -> Outcome {
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

/// Runs a future to its end. A thread that still reads standard input is abandoned.
pub(crate) fn block_on(future: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(future);
    runtime.shutdown_background();
    outcome
}
