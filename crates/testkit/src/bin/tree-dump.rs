//! Prints the contents of a directory, one line per name.

use std::io::Write;
use std::process::ExitCode;

use testkit::TreeDump;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), None) = (arguments.next(), arguments.next()) else {
        return fail(&"usage: tree-dump PATH");
    };
    let dump = match TreeDump::from_directory(path.as_ref()) {
        Ok(dump) => dump,
        Err(error) => return fail(&error),
    };
    match write!(std::io::stdout(), "{dump}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn fail(message: &dyn std::fmt::Display) -> ExitCode {
    // If this fails too, there is no channel left to report it.
    let _ = writeln!(std::io::stderr(), "tree-dump: {message}");
    ExitCode::FAILURE
}
