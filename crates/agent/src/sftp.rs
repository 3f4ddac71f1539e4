//! The agent's program as `msb-sftp`, a server of SFTP over standard input and output for one user of the guest.

use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::exec;

/// The name by which the agent's program finds that it is to serve files.
pub(crate) const NAME: &str = "msb-sftp";

/// Serves the files of this process's user, whose home directory is where relative paths begin. Returns the exit
/// code: 0 if the client has ended its input.
pub(crate) fn run() -> ExitCode {
    let home = exec::own_home().unwrap_or_default();
    if rustix::process::chdir(&*home).is_err() {
        // The root is the working directory of a user without a home, as of login.
        let _ = rustix::process::chdir("/");
    }
    match sftp_server::serve(io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The exit code says it, too.
            let _ = writeln!(io::stderr(), "{NAME}: {error}");
            ExitCode::FAILURE
        }
    }
}
