#![expect(
    unsafe_code,
    reason = "what a child does between fork and exec has no safe form"
)]

use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::exec_event::Event;
use msb_agent_protocol::v1::{Exec, Failure, Namespaces, WindowSize};
use rustix::fs::{FileType, Mode, OFlags, fchown, open};
use rustix::io::ioctl_fionbio;
use rustix::process::{Gid, Resource, Rlimit, Uid, chdir, ioctl_tiocsctty, setrlimit, setsid};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::accounts::{Accounts, Identity};
use super::control_group::ControlGroup;
use super::failure::{bad_request, guest_failure, refused_action};
use super::namespaces::{self, Isolation};
use super::program::Program;
use super::replacement::Replacement;
use super::signals::Group;
use super::{environment, init, limits, own_program, program};
use crate::boot::{self, CommandsGroup};
use crate::descriptor::Descriptor;
use crate::guarded_file::open_as;
use crate::sftp;

/// Control-D, the character that ends a terminal's input.
pub(super) const END_OF_TRANSMISSION: u8 = 4;

/// A command that has been started.
#[derive(Debug)]
pub(super) struct Process {
    /// The process's number, as the agent sees it.
    pub(super) pid: i32,
    /// The process's number, as the commands see it.
    pub(super) own_number: u32,
    pub(super) control_group: Option<Arc<ControlGroup>>,
    pub(super) stdin: Option<Stdin>,
    pub(super) terminal: Option<Terminal>,
    pub(super) outputs: Vec<Output>,
}

/// The agent's end of a command's standard input.
#[derive(Debug)]
pub(super) struct Stdin {
    pub(super) stream: Descriptor,
    pub(super) is_terminal: bool,
}

/// The conversion of a stream's bytes into an event.
type Naming = fn(Bytes) -> Event;

/// A stream of output, and the event that carries its bytes.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) stream: Descriptor,
    pub(super) event: Naming,
}

/// The agent's end of a command's terminal.
#[derive(Debug)]
pub(super) struct Terminal(OwnedFd);

impl Terminal {
    pub(super) fn resize(&self, size: WindowSize) {
        // The size of a terminal whose command has ended does not matter.
        let _ = tcsetwinsize(&self.0, winsize(size));
    }
}

fn winsize(size: WindowSize) -> Winsize {
    let cells = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
    Winsize {
        ws_row: cells(size.rows),
        ws_col: cells(size.columns),
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// A command that is ready to be started.
pub(super) struct Prepared {
    command: Command,
    streams: Streams,
    program: Program,
    control_group: Option<Arc<ControlGroup>>,
    isolation: Isolation,
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
        Isolation::Machine => ControlGroup::create(),
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

/// The agent's ends of a command's streams, before they are polled.
struct Streams {
    stdin: Option<OwnedFd>,
    terminal: Option<OwnedFd>,
    outputs: Vec<(OwnedFd, Naming)>,
}

/// Opens a command's pipes. They belong to the command's user, who can then open them anew by
/// `/dev/stdout` and `/proc/self/fd`, as with runc. `/dev/null` keeps its owner.
fn pipe_streams(command: &mut Command, wants_stdin: bool, owner: Uid) -> io::Result<Streams> {
    let stdin = if wants_stdin {
        let (read, write) = pipe_of(owner)?;
        command.stdin(read);
        Some(write.into())
    } else {
        command.stdin(nothing_to_read(owner)?);
        None
    };
    let (stdout, stdout_write) = pipe_of(owner)?;
    let (stderr, stderr_write) = pipe_of(owner)?;
    command.stdout(stdout_write).stderr(stderr_write);
    let outputs: Vec<(OwnedFd, Naming)> = vec![
        (stdout.into(), Event::Stdout),
        (stderr.into(), Event::Stderr),
    ];
    Ok(Streams {
        stdin,
        terminal: None,
        outputs,
    })
}

/// Gives a command that has no host to talk to streams that are not read.
fn no_streams(command: &mut Command) -> io::Result<Streams> {
    let null = open_as("/dev/null", FileType::CharacterDevice, OFlags::RDWR)?;
    let (stdout, stderr) = (null.try_clone()?, null.try_clone()?);
    command.stdin(null).stdout(stdout).stderr(stderr);
    Ok(Streams {
        stdin: None,
        terminal: None,
        outputs: Vec::new(),
    })
}

/// Opens a pipe that belongs to a user. Both ends share one inode, so one change of owner is
/// enough.
fn pipe_of(owner: Uid) -> io::Result<(PipeReader, PipeWriter)> {
    let (read, write) = io::pipe()?;
    fchown(&write, Some(owner), None)?;
    Ok((read, write))
}

/// Returns an input that reads as empty. It is `/dev/null`, or a pipe without a writer if root in
/// the guest has replaced `/dev/null`.
fn nothing_to_read(owner: Uid) -> io::Result<Stdio> {
    match open_as("/dev/null", FileType::CharacterDevice, OFlags::RDONLY) {
        Ok(null) => {
            ioctl_fionbio(&null, false)?;
            Ok(null.into())
        }
        Err(_) => Ok(pipe_of(owner)?.0.into()),
    }
}

/// Opens a command's terminal. It belongs to the command's user; the group and the mode, `tty` and
/// 0620, are those that devpts gives.
fn terminal_streams(command: &mut Command, size: WindowSize, owner: Uid) -> io::Result<Streams> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    fchown(&slave, Some(owner), None)?;
    tcsetwinsize(&slave, winsize(size))?;
    command
        .stdin(slave.try_clone()?)
        .stdout(slave.try_clone()?)
        .stderr(slave);
    let outputs: Vec<(OwnedFd, Naming)> = vec![(master.try_clone()?, Event::Stdout)];
    Ok(Streams {
        stdin: Some(master.try_clone()?),
        terminal: Some(master),
        outputs,
    })
}

/// The state of a child before it becomes the program.
struct Leader {
    identity: Identity,
    has_terminal: bool,
    /// `cgroup.procs` of the control group that the child joins first, if there is one.
    joined: Option<OwnedFd>,
    control_group: Option<Arc<ControlGroup>>,
    /// True if the command may not run outside the group.
    must_join: bool,
    isolation: Isolation,
    directory: CString,
    limits: Vec<(Resource, Rlimit)>,
    replacement: Replacement,
}

impl Leader {
    /// Lets the child set itself up. It gets its own session, its terminal if it has one, its control
    /// group, namespaces and limits, then the user and the groups.
    fn set_up(self, command: &mut Command) {
        let Identity { uid, gid, .. } = self.identity;
        let groups = self.identity.groups.iter();
        let groups: Vec<Gid> = groups.map(|&gid| Gid::from_raw(gid)).collect();
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        let in_child = move || {
            setsid()?;
            if self.has_terminal {
                ioctl_tiocsctty(io::stdin())?;
            }
            if let Some(group) = &self.joined {
                // `0` means the process that writes.
                match rustix::io::write(group, b"0") {
                    Err(error) if self.must_join => return Err(error.into()),
                    _ => {}
                }
            }
            self.isolation.enter()?;
            if let Some(group) = &self.control_group {
                group.settle();
            }
            chdir(&*self.directory)?;
            for (resource, limit) in &self.limits {
                setrlimit(*resource, *limit)?;
            }
            rustix::thread::set_thread_groups(&groups)?;
            rustix::thread::set_thread_gid(gid)?;
            rustix::thread::set_thread_uid(uid)?;
            Err(self.replacement.execute())
        };
        // SAFETY: between fork and exec only system calls are made; nothing is allocated, no lock is
        // taken, and the captured values were made before the fork.
        unsafe { command.pre_exec(in_child) };
    }
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
        Isolation::Machine => None,
        Isolation::New => Some(1),
        Isolation::Joined(_) => namespaces::own_number(pid),
    };
    let watch = || -> io::Result<Process> {
        let outputs = streams.outputs.into_iter().map(|(file, event)| {
            Ok(Output {
                stream: Descriptor::new(file)?,
                event,
            })
        });
        let outputs = outputs.collect::<io::Result<_>>()?;
        let stream = streams.stdin.map(Descriptor::new).transpose()?;
        let is_terminal = streams.terminal.is_some();
        Ok(Process {
            pid,
            own_number: own_number.unwrap_or(pid.unsigned_abs()),
            control_group,
            stdin: stream.map(|stream| Stdin {
                stream,
                is_terminal,
            }),
            terminal: streams.terminal.map(Terminal),
            outputs,
        })
    };
    watch()
        .map_err(|error| NotStarted::Failed(refused_action("watch the command's streams", &error)))
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
    use std::io::Read as _;

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

    #[test]
    fn a_command_without_input_reads_the_end_at_once() {
        let mut command = Command::new("cat");
        let command = command.stdin(nothing_to_read(rustix::process::getuid()).expect("opened"));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("started");
        let mut said = Vec::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        stdout.read_to_end(&mut said).expect("read");
        assert!(said.is_empty() && child.wait().expect("ended").success());
    }
}
