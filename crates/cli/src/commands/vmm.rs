use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context as _;
use msb_jail::Strictness;
use msb_machine::{Finding, Helpers, Trial};
use msb_machine_records::Timeline;

use super::{Context, machine};
use crate::internal::{NETWORK_COMMAND, SHARE_COMMAND, SOCKETS_COMMAND};
use msb_terminal::failure::{EXIT_MSB_FAILED, Outcome};
use msb_terminal::output;

// Arguments of `msb __vmm`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Directories in which programs are looked up, because the environment is empty
    #[arg(long, value_name = "DIR:DIR")]
    search_path: Option<OsString>,
    /// The QEMU program to use
    #[arg(long, value_name = "PROGRAM")]
    qemu: Option<OsString>,
    /// File that records the progress of the start
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Apply the confinement without booting, and report what is still permitted
    #[arg(long)]
    probe: bool,
    /// Directory of the sandbox
    directory: PathBuf,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let timeline = Timeline::open(arguments.timeline.as_deref())?;
    let (qemu, search_path) = (arguments.qemu.clone(), arguments.search_path.clone());
    let backends = machine::Backends::new(qemu, search_path)?;
    let backends = backends.all();
    let subject = || format!("sandbox {}", arguments.directory.display());
    if arguments.probe {
        let trials = msb_machine::probe(&arguments.directory, &backends, Strictness::Auto);
        return print(&trials.with_context(subject)?);
    }
    let helpers = Helpers {
        network: machine::this_program(&context.home, NETWORK_COMMAND)?,
        share: machine::this_program(&context.home, SHARE_COMMAND)?,
        sockets: machine::this_program(&context.home, SOCKETS_COMMAND)?,
    };
    msb_machine::serve(&arguments.directory, &backends, &helpers, timeline)
        .with_context(subject)?;
    Ok(0)
}

/// Prints one line for each trial. Returns the exit code of a failure if a trial had a wrong
/// outcome.
fn print(trials: &[Trial]) -> Outcome {
    let mut code = 0;
    for trial in trials {
        let (mark, detail) = match &trial.finding {
            Finding::Refused(error) => ("refused", format!(": {error}")),
            Finding::Allowed => ("allowed", String::new()),
            Finding::Skipped(reason) => ("skipped", format!(": {reason}")),
            Finding::Wrong(reason) => {
                code = EXIT_MSB_FAILED;
                ("WRONG", format!(": {reason}"))
            }
        };
        let (jail, what) = (trial.jail, &trial.what);
        output::print(&format!("{mark:<8} {jail:<12} {what}{detail}\n"))?;
    }
    Ok(code)
}
