use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};

use msb_vmm::{RunError, ServedDisk, Sockets};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::NAME;
use crate::program::Programs;

/// The size of the kept end of QEMU's error output, which names the reason for its exit.
const SAID_MAX_BYTES: usize = 4096;

/// Starts QEMU with the agent port as its standard input and no environment.
///
/// Its standard output is the socket for frames; QEMU prints nothing there. It gets no other
/// descriptors but the sockets of shares and served disks, and the sandbox's lock.
///
/// QEMU starts through `setpriv`, which ties its lifetime to this thread's and then becomes QEMU, or before that the
/// starter, which ends if this process has ended before `setpriv` ran.
/// It has its own process group, so that a terminal's Ctrl-C reaches the command in the guest and
/// not the machine.
pub(crate) fn start(
    programs: &Programs,
    arguments: &[OsString],
    sockets: Sockets,
) -> Result<Child, RunError> {
    // The sockets keep their numbers, which the arguments name; this process starts nothing else.
    let disks = sockets.disks.iter().filter_map(ServedDisk::connection);
    for socket in sockets.shares.iter().chain(disks) {
        fcntl_setfd(socket, FdFlags::empty()).map_err(|source| RunError::Io {
            action: "pass on the socket of a share or disk".to_owned(),
            source: source.into(),
        })?;
    }
    command(programs, std::process::id())
        .args(arguments)
        .env_clear()
        .process_group(0)
        .stdin(Stdio::from(sockets.agent_port))
        .stdout(sockets.network.map_or_else(Stdio::null, Stdio::from))
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| RunError::Io {
            action: format!("start {}", programs.qemu.display()),
            source,
        })
}

/// Returns the command that becomes QEMU, which ends with the process `parent`.
fn command(programs: &Programs, parent: u32) -> Command {
    let mut command = Command::new(&programs.setpriv);
    command.args(["--pdeathsig", "KILL"]);
    if let Some(starter) = &programs.starter {
        command.arg(&starter.program).args(&starter.arguments);
        command.arg(parent.to_string());
    }
    command.arg(&programs.qemu);
    command
}

/// Waits until QEMU ends.
pub(crate) fn wait_for_end(child: &mut Child) -> Result<(), RunError> {
    let (said, status) = wait(child).map_err(|source| RunError::Io {
        action: "wait for QEMU".to_owned(),
        source,
    })?;
    if status.success() {
        return Ok(());
    }
    Err(RunError::Failed {
        vmm: NAME,
        outcome: outcome(status, &said),
    })
}

/// Waits for the child. Returns the end of its error output, and its status.
fn wait(child: &mut Child) -> io::Result<(Vec<u8>, ExitStatus)> {
    let said = match child.stderr.take() {
        Some(stderr) => read_tail(stderr)?,
        None => Vec::new(),
    };
    Ok((said, child.wait()?))
}

/// Reads to the end and keeps the last [`SAID_MAX_BYTES`].
fn read_tail(mut source: impl Read) -> io::Result<Vec<u8>> {
    let mut tail = Vec::new();
    let mut buffer = [0; SAID_MAX_BYTES];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok(tail),
            Ok(length) => tail.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        tail.drain(..tail.len().saturating_sub(SAID_MAX_BYTES));
    }
}

/// Returns one line: the status, then the error output.
fn outcome(status: ExitStatus, said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let words = [status.to_string()]
        .into_iter()
        .chain(lines.map(str::to_owned));
    words.collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::ExitStatusExt as _;
    use std::path::Path;

    use super::*;
    use crate::starter::Starter;

    fn sockets() -> (Sockets, UnixStream) {
        let (port, kept) = UnixStream::pair().unwrap();
        let sockets = Sockets {
            agent_port: port.into(),
            network: None,
            shares: Vec::new(),
            disks: Vec::new(),
        };
        (sockets, kept)
    }

    fn run(programs: &Programs, arguments: &[OsString], sockets: Sockets) -> Result<(), RunError> {
        wait_for_end(&mut start(programs, arguments, sockets)?)
    }

    fn run_shell(script: &str) -> Result<(), RunError> {
        let programs = Programs {
            qemu: "/bin/sh".into(),
            setpriv: "/usr/bin/setpriv".into(),
            starter: None,
        };
        let (sockets, _kept) = sockets();
        run(&programs, &["-c".into(), script.into()], sockets)
    }

    #[test]
    fn an_orderly_end_is_fine_whatever_was_said() {
        assert!(run_shell("echo warning >&2").is_ok());
    }

    #[test]
    fn a_failure_carries_status_and_last_words() {
        let error = run_shell("echo no such disk >&2; exit 3").unwrap_err();
        assert_eq!(
            error.to_string(),
            "qemu ended with exit status: 3: no such disk"
        );
        let error = run_shell("kill -9 $$").unwrap_err();
        assert_eq!(error.to_string(), "qemu ended with signal: 9 (SIGKILL)");
    }

    #[test]
    fn a_program_that_cannot_start_is_named() {
        let programs = Programs {
            qemu: Path::new("/no/qemu").into(),
            setpriv: "/no/setpriv".into(),
            starter: None,
        };
        let (sockets, _kept) = sockets();
        let error = run(&programs, &[], sockets).unwrap_err();
        assert_eq!(error.to_string(), "cannot start /no/qemu");
    }

    #[test]
    fn the_starter_is_told_its_parent_and_becomes_qemu() {
        let script = r#"test "$0" = "$PPID" || exit 9; exec "$@""#;
        let starter = Starter {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
        };
        let programs = Programs {
            qemu: "/bin/sh".into(),
            setpriv: "/usr/bin/setpriv".into(),
            starter: Some(starter),
        };
        let arguments: [OsString; 2] = ["-c".into(), "echo it runs >&2; exit 3".into()];
        let (sockets, _kept) = sockets();
        let error = run(&programs, &arguments, sockets).unwrap_err();
        assert_eq!(error.to_string(), "qemu ended with exit status: 3: it runs");
        let gone = command(&programs, 0).args(&arguments).status().unwrap();
        assert_eq!(gone.code(), Some(9));
    }

    #[test]
    fn only_the_last_words_are_kept() {
        let said = [vec![b'a'; 3 * SAID_MAX_BYTES], b"the end".to_vec()].concat();
        let tail = read_tail(said.as_slice()).unwrap();
        assert_eq!(tail.len(), SAID_MAX_BYTES);
        assert!(tail.ends_with(b"the end"));
        assert_eq!(
            outcome(ExitStatus::from_raw(256), b" a \n\n b\n"),
            "exit status: 1: a: b"
        );
    }
}
