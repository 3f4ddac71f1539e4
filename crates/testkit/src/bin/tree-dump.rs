//! Prints what a directory holds, one line a name.

use std::io::Write;
use std::process::ExitCode;

use testkit::TreeDump;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), None) = (arguments.next(), arguments.next()) else {
        return fail(&"usage: tree-dump PATH");
    };
    let dump = match TreeDump::of_directory(path.as_ref()) {
        Ok(dump) => dump,
        Err(error) => return fail(&error),
    };
    match write!(std::io::stdout(), "{dump}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn fail(message: &dyn std::fmt::Display) -> ExitCode {
    // There is nowhere left to say that this fails too.
    let _ = writeln!(std::io::stderr(), "tree-dump: {message}");
    ExitCode::FAILURE
}
