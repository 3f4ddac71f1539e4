//! The parts of the tests that confine their own process.

use std::fs;
use std::os::fd::{AsRawFd as _, IntoRawFd as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use msb_jail::{
    Access, Attempt, Calls, Jail, Limits, Outcome, Strictness, Target, attempt_all,
    close_inherited_descriptors, renounce,
};
use rustix::fs::{Mode, OFlags};

/// The environment variable with the test's directory.
pub(crate) const DIRECTORY_VARIABLE: &str = "MSB_TEST_DIRECTORY";
/// A file whose descriptor is left open by mistake.
const STRAY: &str = "/etc/passwd";
/// The private memory that `renounced` may have.
const DATA_BYTES: u64 = 256 << 20;
/// The file-size limit of `too_long_a_file`.
pub(crate) const LONGEST_FILE_BYTES: u64 = 1 << 16;

/// Returns the actions that no jail allows.
fn forbidden(bench: &TestEnv) -> Vec<Target> {
    vec![
        Target::Read("/etc/passwd".into()),
        Target::Read(bench.other.clone()),
        Target::Write(bench.other.clone()),
        Target::Chmod(bench.other.clone()),
        Target::Create("/tmp/msb-jail-test".into()),
        Target::Create(bench.directory.join("new")),
        Target::List("/".into()),
        Target::List(bench.directory.clone()),
        Target::Symlink(bench.kept.join("link")),
        Target::ConnectTcp,
        Target::ListenTcp,
        Target::Udp,
        Target::ConnectUnix(bench.socket.clone()),
        Target::ConnectAbstract,
        Target::SignalParent,
        Target::LimitParent,
        Target::Namespace,
        Target::Mount,
    ]
}

/// Files that a jail allows, and files that it does not.
struct TestEnv {
    directory: PathBuf,
    read: PathBuf,
    written: PathBuf,
    kept: PathBuf,
    other: PathBuf,
    socket: PathBuf,
    _listener: UnixListener,
}

impl TestEnv {
    fn new() -> Self {
        let directory = PathBuf::from(std::env::var_os(DIRECTORY_VARIABLE).unwrap());
        let file = |name: &str| {
            let path = directory.join(name);
            fs::write(&path, name).unwrap();
            path
        };
        let kept = directory.join("kept");
        fs::create_dir(&kept).unwrap();
        let socket = directory.join("socket");
        Self {
            read: file("read"),
            written: file("written"),
            other: file("other"),
            kept,
            _listener: UnixListener::bind(&socket).unwrap(),
            socket,
            directory,
        }
    }

    fn jail(&self, calls: Calls) -> Jail {
        Jail::new(calls)
            .with(&self.read, Access::Read)
            .with(&self.written, Access::Write)
            .with(&self.kept, Access::Keep)
    }

    fn allowed(&self) -> Vec<Target> {
        vec![
            Target::Read(self.read.clone()),
            Target::Read(self.written.clone()),
            Target::Write(self.written.clone()),
            Target::Create(self.kept.join("new")),
            Target::List(self.kept.clone()),
            Target::Thread,
        ]
    }
}

fn put_on(jail: &Jail) {
    jail.put_on(Strictness::Required).unwrap();
}

#[track_caller]
fn all_refused(targets: Vec<Target>) {
    for Attempt { target, outcome } in attempt_all(targets) {
        assert!(
            matches!(outcome, Outcome::Refused(_)),
            "{target}: {outcome:?}"
        );
    }
}

#[track_caller]
fn all_done(targets: Vec<Target>) {
    for Attempt { target, outcome } in attempt_all(targets) {
        assert!(matches!(outcome, Outcome::Done), "{target}: {outcome:?}");
    }
}

#[test]
#[ignore = "confines its process"]
fn supervisor() {
    let bench = TestEnv::new();
    put_on(&bench.jail(Calls::Supervisor));
    all_refused(forbidden(&bench));
    all_refused(vec![Target::Spawn("/bin/true".into())]);
    all_done(bench.allowed());
}

#[test]
#[ignore = "confines its process"]
fn vmm() {
    let bench = TestEnv::new();
    put_on(&bench.jail(Calls::Vmm));
    all_refused(forbidden(&bench));
    all_refused(vec![Target::Spawn("/bin/true".into())]);
    all_done(bench.allowed());
}

/// The network process can connect, and can do nothing else that is forbidden to others. It cannot
/// start a second thread.
#[test]
#[ignore = "confines its process"]
fn network() {
    let bench = TestEnv::new();
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let datagrams = std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    put_on(&Jail::new(Calls::Network).with(&bench.read, Access::Read));
    let mut refused = forbidden(&bench);
    refused.retain(|target| *target != Target::ConnectTcp);
    all_refused(refused);
    all_refused(vec![
        Target::Write(bench.read.clone()),
        Target::Read(bench.written.clone()),
        Target::Create(bench.kept.join("new")),
        Target::Spawn("/bin/true".into()),
        Target::Thread,
    ]);
    all_done(vec![Target::Read(bench.read), Target::ReachTcp]);
    std::net::TcpStream::connect(at).unwrap();
    listener.accept().unwrap();
    datagrams.send_to(b"hello", at).unwrap();
    // Sockets for the packets of other processes.
    use rustix::net::{AddressFamily, SocketType, socket};
    for family in [
        AddressFamily::PACKET,
        AddressFamily::NETLINK,
        AddressFamily::VSOCK,
    ] {
        let made = socket(family, SocketType::RAW, None);
        assert_eq!(made.unwrap_err(), rustix::io::Errno::PERM, "{family:?}");
    }
}

/// The process of forwarded sockets connects to those in the directories of its jail, and can do nothing else that is
/// forbidden to others.
#[test]
#[ignore = "confines its process"]
fn sockets() {
    let bench = TestEnv::new();
    // The kernel looks for the socket before it looks at the jail, so there is one.
    let name = SocketAddr::from_abstract_name("msb-probe").unwrap();
    let _abstract = UnixListener::bind_addr(&name).unwrap();
    let jail = Jail::new(Calls::Sockets).with(&bench.directory, Access::Connect);
    jail.put_on(Strictness::Required).unwrap();
    let mut refused = forbidden(&bench);
    refused.retain(|target| !matches!(target, Target::ConnectUnix(_)));
    all_refused(refused);
    all_refused(vec![
        Target::Read(bench.read.clone()),
        Target::ReachTcp,
        Target::Spawn("/bin/true".into()),
        Target::Thread,
    ]);
    all_done(vec![Target::ConnectUnix(bench.socket.clone())]);
    // The socket is found without following its path again, and a file that is found so stays closed.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let [socket, file] = [&bench.socket, &bench.read].map(|path| {
        let found = rustix::fs::openat(rustix::fs::CWD, path, flags, Mode::empty()).unwrap();
        let link = format!("/proc/self/fd/{}", found.as_raw_fd());
        (found, PathBuf::from(link))
    });
    all_done(vec![Target::ConnectUnix(socket.1)]);
    all_refused(vec![Target::Read(file.1)]);
    assert!(UnixListener::bind(bench.directory.join("new")).is_err());
}

/// The process that serves a host directory can change files there, and nothing elsewhere. Only the
/// allowed calls restrict its changes to attributes.
#[test]
#[ignore = "confines its process"]
fn share() {
    let bench = TestEnv::new();
    let jail = Jail::new(Calls::Share)
        .with(&bench.read, Access::Read)
        .with(&bench.kept, Access::Share);
    fs::create_dir(bench.kept.join("deep")).unwrap();
    fs::write(bench.kept.join("file"), "").unwrap();
    put_on(&jail);
    // Other processes are refused these calls everywhere.
    let is_left = |target: &Target| matches!(target, Target::Chmod(_) | Target::Symlink(_));
    let mut refused = forbidden(&bench);
    refused.retain(|target| !is_left(target));
    all_refused(refused);
    all_refused(vec![
        Target::Spawn("/bin/true".into()),
        Target::Write(bench.written.clone()),
        Target::Write(bench.read.clone()),
        Target::Symlink(bench.directory.join("link")),
    ]);
    all_done(vec![
        Target::Read(bench.read.clone()),
        Target::Create(bench.kept.join("new")),
        Target::Symlink(bench.kept.join("link")),
        Target::Chmod(bench.kept.join("file")),
        Target::Thread,
    ]);
    fs::rename(bench.kept.join("file"), bench.kept.join("deep/file")).unwrap();
    fs::rename(bench.kept.join("deep/file"), bench.other).unwrap_err();
}

/// Adds the files that dynamically linked programs need, and `program`, to a jail.
fn with_program(jail: Jail, program: &str) -> Jail {
    jail.with(program, Access::Execute)
        .with("/dev/null", Access::Write)
        .with_any(["/lib64/ld-linux-x86-64.so.2"], Access::Execute)
        .with_any(["/lib/ld-linux-aarch64.so.1"], Access::Execute)
        .with_any(
            ["/lib", "/lib64", "/usr/lib", "/etc/ld.so.cache"],
            Access::Read,
        )
}

#[test]
#[ignore = "confines its process"]
fn starter() {
    let bench = TestEnv::new();
    put_on(&with_program(bench.jail(Calls::Starter), "/bin/true"));
    all_refused(forbidden(&bench));
    all_refused(vec![Target::Spawn("/bin/false".into())]);
    all_done(vec![Target::Spawn("/bin/true".into())]);
    // A second jail on top forbids starting programs.
    put_on(&Jail::new(Calls::Supervisor));
    all_refused(vec![Target::Spawn("/bin/true".into())]);
}

/// A child that is to die with this thread does so, even if the thread puts on a jail later.
#[test]
#[ignore = "ends its process"]
#[expect(
    clippy::zombie_processes,
    reason = "the child outlives this process or not"
)]
fn parent_of_one_that_dies_with_it() {
    let bench = TestEnv::new();
    let jail = with_program(bench.jail(Calls::Starter), "/bin/sleep")
        .with("/usr/bin/setpriv", Access::Execute)
        .with("/proc", Access::Read);
    put_on(&jail);
    let child = Command::new("/usr/bin/setpriv")
        .args(["--pdeathsig", "KILL", "/bin/sleep", "600"])
        .spawn()
        .unwrap();
    fs::write(&bench.written, child.id().to_string()).unwrap();
    // Until setpriv has started sleep. It asks for the signal at the end of its parent before.
    let name = || fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap();
    while name() != "sleep\n" {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    put_on(&Jail::new(Calls::Supervisor).with_signals());
    // This thread ends, and its process with it.
}

#[test]
#[ignore = "confines its process"]
fn inherited() {
    let bench = TestEnv::new();
    put_on(&with_program(bench.jail(Calls::Starter), "/bin/cat"));
    let cat = |path: &PathBuf| Command::new("/bin/cat").arg(path).output().unwrap();
    assert!(cat(&bench.read).status.success());
    let refused = cat(&bench.other);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Permission denied"));
}

/// Calls for which the C library has no names. A filter answers them even if the kernel does not
/// have them. Without a filter, no kernel answers these arguments with `EPERM`.
#[test]
#[ignore = "confines its process"]
fn newer_calls() {
    const PERL: &str = "/usr/bin/perl";
    const EPERM: i32 = 1;
    let call = |number: i32| {
        let script = format!("syscall({number}, -1, 0, 0, 0, 0, 0) == -1 or $! = 0; exit($! + 0)");
        let status = Command::new(PERL).args(["-e", &script]).status();
        status.unwrap().code().unwrap()
    };
    // quotactl_fd, process_mrelease, fchmodat2, setxattrat, removexattrat, open_tree_attr,
    // file_setattr
    let calls = [443, 448, 452, 463, 466, 467, 469];
    for number in calls {
        assert_ne!(call(number), EPERM, "{number} without a jail");
    }
    let bench = TestEnv::new();
    put_on(&with_program(bench.jail(Calls::Starter), PERL));
    for number in calls {
        assert_eq!(call(number), EPERM, "{number}");
    }
}

#[test]
#[ignore = "confines its process"]
fn accesses() {
    let bench = TestEnv::new();
    put_on(&bench.jail(Calls::Vmm));
    all_refused(vec![
        Target::Write(bench.read.clone()),
        Target::Spawn(bench.read.clone()),
    ]);
    let (old, new) = (bench.kept.join("old"), bench.kept.join("new"));
    fs::write(&old, "x").unwrap();
    fs::rename(&old, &new).unwrap();
    let refused = |result: std::io::Result<()>| {
        assert_eq!(
            result.unwrap_err().kind(),
            std::io::ErrorKind::PermissionDenied
        );
    };
    let directory = bench.kept.join("directory");
    fs::create_dir(&directory).unwrap();
    fs::remove_dir(&directory).unwrap();
    refused(fs::create_dir(bench.directory.join("directory")));
    refused(fs::rename(&new, bench.directory.join("out")));
    refused(fs::remove_file(&bench.written));
    refused(fs::rename(&new, &bench.written));
    // Across directories Landlock makes the kernel report another filesystem.
    fs::hard_link(&bench.other, bench.kept.join("in")).unwrap_err();
    fs::remove_file(&new).unwrap();
}

fn status(of: &str, key: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{of}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap().trim_start_matches(':').trim().to_owned()
}

#[test]
#[ignore = "confines its process"]
fn renounced() {
    use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};
    let limits = Limits {
        open_files: Some(64),
        file_bytes: Some(1 << 20),
        data_bytes: Some(DATA_BYTES),
        any_owner: false,
    };
    renounce(&limits, Strictness::Required).unwrap();
    assert_eq!(status("thread-self", "NoNewPrivs"), "1");
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(status("thread-self", set), "0000000000000000", "{set}");
    }
    if rustix::process::geteuid().is_root() {
        assert_eq!(status("thread-self", "CapBnd"), "0000000000000000");
    }
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    let core = getrlimit(Resource::Core);
    assert_eq!((core.current, core.maximum), (Some(1), Some(1)));
    let files = getrlimit(Resource::Nofile);
    assert_eq!((files.current, files.maximum), (Some(64), Some(64)));
    all_refused(vec![Target::RaiseLimit, Target::Mount]);
    let mut memory: Vec<u8> = Vec::new();
    let length = usize::try_from(DATA_BYTES).unwrap();
    memory.try_reserve_exact(length / 4).unwrap();
    memory.try_reserve_exact(length).unwrap_err();
    let mut open = Vec::new();
    let full = loop {
        match fs::File::open("/dev/null") {
            Ok(file) => open.push(file),
            Err(error) => break error,
        }
    };
    assert_eq!(full.raw_os_error(), Some(24), "{full}");
    assert!(open.len() < 64);
}

#[test]
#[ignore = "ends its process"]
fn too_long_a_file() {
    let bench = TestEnv::new();
    let limits = Limits {
        file_bytes: Some(LONGEST_FILE_BYTES),
        ..Limits::default()
    };
    renounce(&limits, Strictness::Required).unwrap();
    let bytes = vec![0; 1 << 17];
    // The first call writes up to the limit.
    while std::io::Write::write(
        &mut fs::File::options()
            .append(true)
            .create(true)
            .open(bench.directory.join("long"))
            .unwrap(),
        &bytes,
    )
    .is_ok()
    {}
}

#[test]
#[ignore = "confines its process"]
fn other_processes() {
    use nix::errno::Errno;
    use nix::sys::ptrace;
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let bench = TestEnv::new();
    let mut sleep = Command::new("/bin/sleep").arg("600").spawn().unwrap();
    let pid = Pid::from_raw(sleep.id().cast_signed());
    let limits = Limits::default();
    renounce(&limits, Strictness::Required).unwrap();
    let jail = bench.jail(Calls::Vmm);
    std::thread::spawn(move || {
        put_on(&jail);
        assert_eq!(ptrace::attach(pid), Err(Errno::EPERM));
        assert_eq!(kill(pid, Signal::SIGTERM), Err(Errno::EPERM));
        assert_eq!(kill(pid, None), Err(Errno::EPERM));
        assert!(fs::read(format!("/proc/{pid}/environ")).is_err());
    })
    .join()
    .unwrap();
    sleep.kill().unwrap();
    sleep.wait().unwrap();
}

#[test]
#[ignore = "is the other side of the tests that confine"]
fn nothing_put_on() {
    let bench = TestEnv::new();
    let jail = bench.jail(Calls::Supervisor);
    let report = jail.put_on(Strictness::Off).unwrap();
    assert!(report.layers.is_empty());
    // The host may refuse a mount for its own reasons, and may have no such sockets.
    let rights = forbidden(&bench).into_iter().filter(|target| {
        !matches!(
            target,
            Target::ConnectTcp | Target::ConnectAbstract | Target::Namespace | Target::Mount
        )
    });
    all_done(rights.collect());
    all_done(vec![Target::Spawn("/bin/true".into()), Target::Environment]);
}

#[test]
#[ignore = "confines its process"]
fn missing_file() {
    let error = Jail::new(Calls::Vmm)
        .with("/no/such/file", Access::Read)
        .put_on(Strictness::Auto)
        .unwrap_err();
    assert_eq!(error.to_string(), "cannot allow /no/such/file in the jail");
}

#[test]
#[ignore = "changes its process's descriptors"]
fn stray_descriptors() {
    let listed = || {
        let entries = fs::read_dir("/proc/self/fd").unwrap();
        let targets = entries.map(|entry| fs::read_link(entry.unwrap().path()).ok());
        targets.flatten().collect::<Vec<_>>()
    };
    let is_stray = |target: &PathBuf| target == Path::new(STRAY);
    let file = fs::File::open(STRAY).unwrap();
    assert!(listed().iter().any(is_stray), "{:?}", listed());
    close_inherited_descriptors();
    // The descriptor is closed already.
    let _ = file.into_raw_fd();
    assert!(!listed().iter().any(is_stray), "{:?}", listed());
    let streams = (0..3).all(|number| fs::read_link(format!("/proc/self/fd/{number}")).is_ok());
    assert!(streams, "a standard stream was closed");
}
