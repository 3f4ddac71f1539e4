//! Prints everything that this process can see of its environment, one line a value.

use std::io::Write as _;
use std::process::ExitCode;

use testkit::ProcessDump;

fn main() -> ExitCode {
    let dump = ProcessDump::of_this_process();
    match write!(std::io::stdout(), "{dump}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If this fails too, there is no channel left to report it.
            let _ = writeln!(std::io::stderr(), "process-dump: {error}");
            ExitCode::FAILURE
        }
    }
}
