//! The VMM process, and QEMU if it is used, are confined as SECURITY.md says.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::durability::remove;
use test_support::{TestEnv, describe, expect_code, run_through};

const NAME: &str = "checks-isolated";
/// A file whose descriptor a caller leaves open in msb by mistake.
const STRAY: &str = "/etc/passwd";
/// Descriptors of these kinds give access to nothing else.
const HARMLESS: [&str; 7] = [
    "socket:",
    "pipe:",
    "anon_inode:",
    "/dev/null",
    "/dev/kvm",
    "/dev/urandom",
    "/memfd:",
];
/// The beginning of the trials of the threads that serve a disk.
const OF_DISK: &str = " disk    ";
/// `CAP_DAC_OVERRIDE`, which root keeps if the home belongs to another user.
const ANY_OWNER: u64 = 1 << 1;

/// Checks the kernel's status of the processes of a running machine, and that they die together.
pub(super) fn processes(env: &TestEnv) -> Result<()> {
    let isolated = Isolated::start(env)?;
    let machine = isolated.process;
    let mut all = vec![machine];
    all.extend(children(machine)?);
    // The VMM process and its network; with QEMU also that and the process of a share.
    let expected = if env.vmm() == "qemu" { 4 } else { 2 };
    ensure!(
        all.len() == expected,
        "the machine has the processes {all:?}"
    );
    for &process in &all {
        let looked = environment(process).and_then(|()| isolated.descriptors(process));
        let looked = if runs(process, "__share") {
            // It has the limits of the user, and the files of every owner.
            looked
        } else {
            looked
                .and_then(|()| status(process, &isolated.home))
                .and_then(|()| limits(process))
        };
        looked.with_context(|| format!("process {process}"))?;
    }
    let network = all.iter().find(|process| runs(**process, "__network"));
    bounded_memory(*network.context("there is no process of the network")?)?;
    let killed = Command::new("kill")
        .args(["-KILL", &machine.to_string()])
        .status()?;
    ensure!(killed.success(), "cannot kill process {machine}");
    for process in all {
        await_end(process)?;
    }
    remove(env, NAME)
}

/// Tries every forbidden action in processes confined like the VMM process of a sandbox and its threads.
pub(super) fn probe(env: &TestEnv) -> Result<()> {
    let isolated = Isolated::start(env)?;
    let mut line = env.msb();
    line.arg("--home")
        .arg(env.home())
        .args(["__vmm", "--probe"]);
    if let Some(path) = std::env::var_os("PATH") {
        line.arg("--search-path").arg(path);
    }
    let probed = line.arg(&isolated.directory).env_clear().output()?;
    let text = String::from_utf8_lossy(&probed.stdout).into_owned();
    let count = |mark: &str| text.lines().filter(|line| line.starts_with(mark)).count();
    ensure!(probed.status.success(), "{}", describe(&probed));
    ensure!(count("refused") > 20 && count("allowed") > 3, "{text}");
    ensure!(text.contains(OF_DISK), "{text}");
    let skipped = count("skipped");
    if skipped > 0 {
        println!("        this host has not every layer: {skipped} attempts were left out");
    }
    let killed = env.msb().args(["kill", NAME]).output()?;
    expect_code(&killed, 0)?;
    remove(env, NAME)
}

/// A detached sandbox and its VMM process.
struct Isolated {
    home: PathBuf,
    directory: PathBuf,
    /// The directory of the host that a sandbox under QEMU shows.
    share: PathBuf,
    process: u32,
}

impl Isolated {
    /// Starts the sandbox from a shell that leaves a descriptor open.
    fn start(env: &TestEnv) -> Result<Self> {
        let share = env.work.join("share");
        fs::create_dir_all(&share)?;
        let share = fs::canonicalize(share)?;
        let shared = format!("{}:/mnt:ro", share.display());
        let line = || {
            let _ = remove(env, NAME);
            let mut options = vec!["-d", "--name", NAME, "-p", "80"];
            if env.vmm() == "qemu" {
                options.extend(["-v", &shared]);
            }
            let run = env.run_command(&options, &["sleep", "600"]);
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec \"$@\" 9<{STRAY}"), "sh"]);
            run_through(&mut shell, &run);
            shell
        };
        let started = env.retried(line, &[])?;
        expect_code(&started, 0)?;
        let id = String::from_utf8(started.stdout)?;
        let home = env.home().to_owned();
        let directory = home.join("sandboxes").join(id.trim());
        Ok(Self {
            home,
            directory,
            share,
            process: env.machine_pid(NAME)?,
        })
    }

    /// Checks that every open file is the sandbox's, the image's or one of the machine's parts.
    fn descriptors(&self, process: u32) -> Result<()> {
        let places =
            ["store", "kernels", "boot"].map(|name| fs::canonicalize(self.home.join(name)));
        let places = places.into_iter().collect::<Result<Vec<_>, _>>()?;
        let own = fs::canonicalize(&self.directory)?;
        for entry in fs::read_dir(format!("/proc/{process}/fd"))? {
            // A descriptor closed in the meantime does not count.
            let Ok(target) = fs::read_link(entry?.path()) else {
                continue;
            };
            let text = target.to_string_lossy();
            let is_known = HARMLESS.iter().any(|kind| text.starts_with(kind))
                || target.starts_with(&own)
                || target.starts_with(&self.share)
                // A share opens files by their descriptors again, and reads which mounts there are.
                || ["fd", "mountinfo"].iter().any(|name| text == format!("/proc/{process}/{name}"))
                || places.iter().any(|place| target.starts_with(place));
            ensure!(is_known, "an open descriptor of {text}");
        }
        Ok(())
    }
}

/// Returns true if a process was started with this command of msb.
fn runs(process: u32, command: &str) -> bool {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0)
        .any(|word| word == command.as_bytes())
}

fn children(process: u32) -> Result<Vec<u32>> {
    let found = Command::new("pgrep")
        .args(["-P", &process.to_string()])
        .output()?;
    let text = String::from_utf8(found.stdout)?;
    text.lines().map(|line| Ok(line.parse()?)).collect()
}

/// Checks that no thread has or can get privileges, and each has a filter of system calls.
fn status(process: u32, home: &Path) -> Result<()> {
    let kept = if fs::metadata(home)?.uid() == 0 {
        0
    } else {
        ANY_OWNER
    };
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let path = thread?.path().join("status");
        let status = fs::read_to_string(&path)?;
        let value = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.map(|value| value.trim_start_matches(':').trim())
                .with_context(|| format!("no {key} in {}", path.display()))
        };
        ensure!(value("NoNewPrivs")? == "1", "{status}");
        ensure!(value("Seccomp")? == "2", "{status}");
        // Without new privileges the bounding set has no effect; only root can narrow it.
        let bound = rustix::process::geteuid().is_root().then_some("CapBnd");
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"]
            .into_iter()
            .chain(bound)
        {
            let capabilities = u64::from_str_radix(value(set)?, 16)?;
            ensure!(capabilities & !kept == 0, "{set}: {status}");
        }
    }
    Ok(())
}

fn environment(process: u32) -> Result<()> {
    let environment = fs::read(format!("/proc/{process}/environ"))?;
    ensure!(
        environment.is_empty(),
        "an environment: {}",
        String::from_utf8_lossy(&environment)
    );
    Ok(())
}

fn limits(process: u32) -> Result<()> {
    let core = hard_limit(process, "Max core file size")?;
    ensure!(core == "1", "cores of {core} bytes");
    for name in ["Max file size", "Max open files"] {
        is_limited(process, name)?;
    }
    Ok(())
}

/// Checks that the network process, which talks to anything, has a limit on memory too.
fn bounded_memory(process: u32) -> Result<()> {
    is_limited(process, "Max data size")
}

fn is_limited(process: u32, name: &str) -> Result<()> {
    let limit = hard_limit(process, name)?;
    ensure!(limit.parse::<u64>().is_ok(), "{name}: {limit}");
    Ok(())
}

fn hard_limit(process: u32, name: &str) -> Result<String> {
    let limits = fs::read_to_string(format!("/proc/{process}/limits"))?;
    let line = limits.lines().find_map(|line| line.strip_prefix(name));
    let hard = line.and_then(|line| line.split_ascii_whitespace().nth(1));
    Ok(hard
        .with_context(|| format!("no {name} in {limits}"))?
        .to_owned())
}

/// Waits until a process does not exist, or has ended and is not yet reaped by its parent.
fn await_end(process: u32) -> Result<()> {
    let runs = || {
        let status = fs::read_to_string(format!("/proc/{process}/status"));
        status.is_ok_and(|status| !status.contains("State:\tZ"))
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while runs() {
        ensure!(Instant::now() < deadline, "process {process} goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
