use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use guest_container::Replacement;
use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::{Exec, Failure, Namespaces};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::Uid;

use super::accounts::Accounts;
use super::control_group::ControlGroup;
use super::failure::{bad_request, guest_failure, refused_action};
use super::leader::Leader;
use super::namespaces::{self, Isolation};
use super::program::Program;
use super::signals::Group;
use super::streams::{
    Ends, Output, Stdin, Streams, Terminal, no_streams, pipe_streams, terminal_streams,
};
use super::{environment, init, limits, own_program, program};
use crate::boot::{self, CommandsGroup};
use crate::sftp;

/// A command that has been started.
#[derive(Debug)]
pub(crate) struct Process {
    /// The process's number, as the agent sees it.
    pub(crate) pid: i32,
    /// The process's number, as the commands see it.
    pub(super) own_number: u32,
    pub(super) control_group: Option<Arc<ControlGroup>>,
    pub(super) stdin: Option<Stdin>,
    pub(super) terminal: Option<Terminal>,
    pub(super) outputs: Vec<Output>,
}

/// A command that is ready to be started.
pub(super) struct Prepared {
    pub(super) command: Command,
    pub(super) streams: Streams,
    pub(super) program: Program,
    pub(super) control_group: Option<Arc<ControlGroup>>,
    pub(super) isolation: Isolation,
}

/// The reason why a command was not started.
pub(super) enum NotStarted {
    /// The failure, ready for the host.
    Failed(Failure),
    /// The kernel has refused the program. Finding the reason may block on the guest's files.
    Refused { program: Program, error: io::Error },
}

/// Prepares the command that the host asks for. It reads the guest's files, as commands see them, so it may
/// block on the filesystem that holds them.
pub(super) fn prepare(request: &Exec, isolation: Isolation) -> Result<Prepared, Failure> {
    let identity = Accounts::read().resolve(&request.user, &request.groups)?;
    let directory = working_directory(
        &request.working_directory,
        request.working_directory_must_exist,
    )?;
    let mut environment = environment::parse(&request.env);
    if environment::get(&environment, "HOME").is_none() {
        environment.push(("HOME".into(), identity.home.clone().into()));
    }
    if environment::get(&environment, "HOSTNAME").is_none() {
        let name = rustix::system::uname().nodename().to_bytes().to_vec();
        environment.push(("HOSTNAME".into(), OsString::from_vec(name)));
    }
    let (program, replacement) = program_of(request, &environment, &directory)?;
    let mut command = Command::new(&program.path);
    let owner = Uid::from_raw(identity.uid);
    let streams = match request.terminal {
        _ if request.argv.is_empty() => no_streams(&mut command),
        Some(size) => terminal_streams(&mut command, size, owner),
        None => pipe_streams(&mut command, request.stdin, owner),
    };
    let streams = streams.map_err(|error| refused_action("open the command's streams", &error))?;
    let limits = limits::read(&request.ulimits)?;
    let has_terminal = request.terminal.is_some();
    let control_group = match &isolation {
        Isolation::Machine | Isolation::NewContainer | Isolation::Container(_) => {
            ControlGroup::create()
        }
        Isolation::New => ControlGroup::create_root(),
        Isolation::Joined(process_1) => process_1
            .control_group()
            .and_then(ControlGroup::create_beside),
    };
    let control_group = control_group.map(Arc::new);
    let joined = control_group.as_deref().map(ControlGroup::first_processes);
    let joined = joined.or_else(|| isolation.processes());
    // Without a group of its own, the command is at least counted with all others.
    let joined = joined.or_else(|| boot::commands_group().map(CommandsGroup::processes));
    let joined = joined.map(|file| file.try_clone_to_owned()).transpose();
    let joined = joined.map_err(|error| refused_action("join the command's group", &error))?;
    let is_limited = boot::commands_group().is_some_and(|all| all.pids_max().is_some());
    let leader = Leader {
        identity,
        has_terminal,
        joined,
        control_group: control_group.clone(),
        must_join: is_limited,
        isolation: isolation.clone(),
        directory: working_directory_name(&directory)?,
        limits,
        replacement,
        kept: Vec::new(),
    };
    leader.set_up(&mut command);
    Ok(Prepared {
        command,
        streams,
        program,
        control_group,
        isolation,
    })
}

/// Finds the program that a command starts, which is its init if it has one.
fn program_of(
    request: &Exec,
    environment: &[(OsString, OsString)],
    directory: &Path,
) -> Result<(Program, Replacement), Failure> {
    let has_init = request.namespaces() == Namespaces::NewWithInit;
    let arguments = request.argv.iter().map(|argument| &argument[..]);
    let word = request.argv.first().filter(|word| !word.is_empty());
    let (word, path) = match word {
        None if has_init && request.argv.is_empty() => {
            (Bytes::from_static(init::NAME.as_bytes()), init::NAME.into())
        }
        // The agent's own program has no path that every user could take.
        Some(word) if !has_init && word == sftp::NAME.as_bytes() => {
            (word.clone(), sftp::NAME.into())
        }
        None => return Err(bad_request("the command is empty")),
        Some(word) => {
            let path = environment::get(environment, "PATH");
            (word.clone(), program::find(word, path, directory)?)
        }
    };
    let replacement = if has_init {
        init::replacement(arguments, environment)?
    } else if path == Path::new(sftp::NAME) {
        own_program::replacement(arguments, environment)?
    } else {
        Replacement::new(&path, arguments, environment)
            .map_err(|_| program::not_executable(&word, "an argument contains a NUL byte"))?
    };
    let program = Program {
        word,
        path,
        directory: directory.to_owned(),
    };
    Ok((program, replacement))
}

/// Starts a prepared command, and opens the agent's ends of its streams.
pub(super) fn start(prepared: Prepared) -> Result<Process, NotStarted> {
    let Prepared {
        mut command,
        streams,
        program,
        control_group,
        isolation,
    } = prepared;
    if matches!(isolation, Isolation::New) && namespaces::process_1().is_some() {
        let failure = bad_request("the main command runs already");
        return Err(NotStarted::Failed(failure));
    }
    let spawned = isolation.spawn(|| command.spawn());
    // The child has its own copies of its ends; these copies would keep the streams open.
    drop(command);
    let child = spawned.map_err(|error| match error.kind() {
        _ if isolation.has_ended(&error) => {
            NotStarted::Failed(guest_failure("the main command has ended"))
        }
        io::ErrorKind::OutOfMemory | io::ErrorKind::WouldBlock => {
            NotStarted::Failed(refused_action("start the command", &error))
        }
        _ => NotStarted::Refused { program, error },
    })?;
    let pid = i32::try_from(child.id())
        .map_err(|_| NotStarted::Failed(bad_request("the process id is too large")))?;
    if matches!(isolation, Isolation::New) {
        namespaces::note_start(pid, control_group.clone()).map_err(|error| {
            Group::new(pid, control_group.clone()).kill();
            NotStarted::Failed(refused_action("watch process 1", &error))
        })?;
    }
    let own_number = match isolation {
        // The host gets the number that the agent's calls on containers have.
        Isolation::Machine | Isolation::NewContainer | Isolation::Container(_) => None,
        Isolation::New => Some(1),
        Isolation::Joined(_) => namespaces::own_number(pid),
    };
    let ends = streams.watch();
    let ends = ends
        .map_err(|error| NotStarted::Failed(refused_action("watch the command's streams", &error)));
    let Ends {
        stdin,
        terminal,
        outputs,
    } = ends?;
    Ok(Process {
        pid,
        own_number: own_number.unwrap_or(pid.unsigned_abs()),
        control_group,
        stdin,
        terminal,
        outputs,
    })
}

/// Opens the working directory, and makes it if it is missing, unless it must exist.
fn working_directory(wanted: &[u8], must_exist: bool) -> Result<PathBuf, Failure> {
    let wanted = if wanted.is_empty() { b"/" } else { wanted };
    let path = Path::new("/").join(OsStr::from_bytes(wanted));
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let made = if must_exist {
        Ok(())
    } else {
        fs::create_dir_all(&path)
    };
    match made.and_then(|()| open(&path, directory, Mode::empty()).map_err(Into::into)) {
        Ok(_) => Ok(path),
        Err(error) => Err(bad_request(&format!(
            "cannot use {} as working directory: {error}",
            wanted.escape_ascii()
        ))),
    }
}

fn working_directory_name(directory: &Path) -> Result<CString, Failure> {
    CString::new(directory.as_os_str().as_bytes())
        .map_err(|_| bad_request("the working directory contains a NUL byte"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_directory_is_made_unless_it_must_exist() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("a/b");
        let wanted = path.as_os_str().as_bytes();
        let refused = working_directory(wanted, true).expect_err("missing");
        assert!(refused.message.contains("No such file"), "{refused:?}");
        assert!(!path.parent().expect("a parent").exists());
        assert_eq!(working_directory(wanted, false).expect("made"), path);
        assert_eq!(working_directory(wanted, true).expect("there"), path);
    }
}
