use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use thiserror::Error;

use crate::SUFFIX;

/// The program of OpenSSH.
const PROGRAM: &str = "ssh";

/// The options of the host's OpenSSH client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// The user of the guest; root if `None`.
    pub user: Option<String>,
    /// True if a command gets a terminal.
    pub has_terminal: bool,
    /// True if the guest's user may use the ssh-agent of this client.
    pub forwards_agent: bool,
    /// Ports and sockets of this host that lead to sockets of the guest, as `ssh -L` has them.
    pub forwards: Vec<String>,
    /// Ports of this host that lead to all sockets that the guest reaches, as `ssh -D` has them.
    pub proxies: Vec<String>,
    /// The command; the user's shell if it is empty. The words are joined with spaces, for that shell.
    pub command: Vec<OsString>,
}

/// The reason for which the host's client does not run.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The host has no OpenSSH client.
    #[error(
        "this host has no OpenSSH client: install the package openssh-client (Debian, Ubuntu, Alpine), openssh-clients \
         (Fedora) or openssh (Arch)"
    )]
    Missing,
    /// The client cannot be executed.
    #[error("cannot execute ssh")]
    Execute(#[source] io::Error),
}

impl ClientOptions {
    /// Executes the client in place of this process, for the sandbox with this name. Returns only if that fails.
    pub fn execute(&self, name: &str, config: &Path) -> ClientError {
        let error = Command::new(PROGRAM)
            .args(self.arguments(name, config))
            .exec();
        match error.kind() {
            io::ErrorKind::NotFound => ClientError::Missing,
            _ => ClientError::Execute(error),
        }
    }

    fn arguments(&self, name: &str, config: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["-F".into(), config.into()];
        if let Some(user) = &self.user {
            arguments.extend(["-l".into(), user.into()]);
        }
        if self.has_terminal {
            arguments.push("-t".into());
        }
        if self.forwards_agent {
            arguments.push("-A".into());
        }
        for (option, values) in [("-L", &self.forwards), ("-D", &self.proxies)] {
            for value in values {
                arguments.extend([option.into(), value.into()]);
            }
        }
        // Words that begin with a hyphen are the command's.
        arguments.extend(["--".into(), format!("{name}{SUFFIX}").into()]);
        arguments.extend(self.command.iter().cloned());
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_gets_its_options_before_the_sandbox_and_the_command_behind() {
        let options = ClientOptions {
            user: Some("dev".to_owned()),
            has_terminal: true,
            forwards_agent: true,
            forwards: vec!["8080:localhost:80".to_owned()],
            proxies: vec!["1080".to_owned()],
            command: vec!["ls".into(), "-l".into()],
        };
        let arguments = options.arguments("web", Path::new("/c"));
        let expected = "-F /c -l dev -t -A -L 8080:localhost:80 -D 1080 -- web.msb ls -l";
        assert_eq!(arguments.join(" ".as_ref()), expected);
        let plain = ClientOptions::default().arguments("web", Path::new("/c"));
        assert_eq!(plain.join(" ".as_ref()), "-F /c -- web.msb");
    }
}
