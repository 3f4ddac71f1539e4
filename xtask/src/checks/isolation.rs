//! The process of a machine, and QEMU where there is one, are confined as SECURITY.md says.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::bed::{Bed, describe, expect_code};
use super::durability::remove;

const NAME: &str = "checks-isolated";
/// A file that msb is left open by mistake.
const STRAY: &str = "/etc/passwd";
/// Descriptors of these kinds are no way to anything else.
const HARMLESS: [&str; 7] = [
    "socket:",
    "pipe:",
    "anon_inode:",
    "/dev/null",
    "/dev/kvm",
    "/dev/urandom",
    "/memfd:",
];
/// `CAP_DAC_OVERRIDE`, which root keeps where the home is another user's.
const ANY_OWNER: u64 = 1 << 1;

/// What the kernel says of the processes of a machine that runs, and that they die together.
pub(super) fn processes(bed: &Bed) -> Result<()> {
    let isolated = Isolated::start(bed)?;
    let machine = isolated.process()?;
    let mut all = vec![machine];
    all.extend(children(machine)?);
    // It, its network, and QEMU where there is one.
    let expected = if bed.vmm() == "qemu" { 3 } else { 2 };
    ensure!(
        all.len() == expected,
        "the machine has the processes {all:?}"
    );
    for &process in &all {
        let looked = status(process)
            .and_then(|()| environment(process))
            .and_then(|()| limits(process))
            .and_then(|()| isolated.descriptors(process));
        looked.with_context(|| format!("process {process}"))?;
    }
    let is_network = |process: &&u32| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"network")
    };
    let network = all.iter().find(is_network);
    bounded_memory(*network.context("there is no process of the network")?)?;
    let killed = Command::new("kill")
        .args(["-KILL", &machine.to_string()])
        .status()?;
    ensure!(killed.success(), "cannot kill process {machine}");
    for process in all {
        await_end(process)?;
    }
    remove(bed, NAME)
}

/// Tries, in a process confined like the machine's, all that is forbidden.
pub(super) fn probe(bed: &Bed) -> Result<()> {
    let isolated = Isolated::start(bed)?;
    let mut line = Command::new(&bed.msb);
    line.arg("--home").arg(home()?).args(["vmm", "--probe"]);
    if let Some(path) = std::env::var_os("PATH") {
        line.arg("--search-path").arg(path);
    }
    let probed = line.arg(&isolated.directory).env_clear().output()?;
    let text = String::from_utf8_lossy(&probed.stdout);
    let count = |mark: &str| text.lines().filter(|line| line.starts_with(mark)).count();
    ensure!(probed.status.success(), "{}", describe(&probed));
    ensure!(count("refused") > 20 && count("allowed") > 3, "{text}");
    let skipped = count("skipped");
    if skipped > 0 {
        println!("        this host has not every layer: {skipped} attempts were left out");
    }
    let killed = Command::new(&bed.msb).args(["kill", NAME]).output()?;
    expect_code(&killed, 0)?;
    remove(bed, NAME)
}

/// A sandbox that runs by itself.
struct Isolated {
    directory: PathBuf,
}

impl Isolated {
    /// Starts it from a shell that leaves a descriptor open.
    fn start(bed: &Bed) -> Result<Self> {
        let line = || {
            let _ = remove(bed, NAME);
            let options = ["-d", "--name", NAME, "-p", "80"];
            let run = bed.run_command(&options, &["sleep", "600"]);
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec \"$@\" 9<{STRAY}"), "sh"]);
            shell.arg(run.get_program()).args(run.get_args());
            shell
        };
        let started = bed.retried(line, &[])?;
        expect_code(&started, 0)?;
        let id = String::from_utf8(started.stdout)?;
        let directory = home()?.join("sandboxes").join(id.trim());
        Ok(Self { directory })
    }

    fn process(&self) -> Result<u32> {
        let text = fs::read_to_string(self.directory.join("vmm.pid"))?;
        Ok(text.trim().parse()?)
    }

    /// Every open file is the sandbox's, the image's or one of the machine's parts.
    fn descriptors(&self, process: u32) -> Result<()> {
        let home = fs::canonicalize(home()?)?;
        let places = ["store", "kernels", "boot"].map(|name| home.join(name));
        let own = fs::canonicalize(&self.directory)?;
        for entry in fs::read_dir(format!("/proc/{process}/fd"))? {
            // One that is closed meanwhile is none.
            let Ok(target) = fs::read_link(entry?.path()) else {
                continue;
            };
            let text = target.to_string_lossy();
            let is_known = HARMLESS.iter().any(|kind| text.starts_with(kind))
                || target.starts_with(&own)
                || places.iter().any(|place| target.starts_with(place));
            ensure!(is_known, "an open descriptor of {text}");
        }
        Ok(())
    }
}

fn home() -> Result<PathBuf> {
    let home = std::env::var_os("MSB_HOME").context("MSB_HOME is not set")?;
    Ok(std::path::absolute(home)?)
}

fn children(process: u32) -> Result<Vec<u32>> {
    let found = Command::new("pgrep")
        .args(["-P", &process.to_string()])
        .output()?;
    let text = String::from_utf8(found.stdout)?;
    text.lines().map(|line| Ok(line.parse()?)).collect()
}

/// No thread has privileges or can get any, and each has a filter of system calls.
fn status(process: u32) -> Result<()> {
    let kept = if fs::metadata(home()?)?.uid() == 0 {
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
        // Without new privileges the bound is idle; only root can narrow it.
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

/// The network, which everybody talks to, has a bound on its memory as well.
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

/// Waits until a process is gone, or ended and not yet fetched by its parent.
fn await_end(process: u32) -> Result<()> {
    let runs = || {
        let status = fs::read_to_string(format!("/proc/{process}/status"));
        status.is_ok_and(|status| !status.contains("State:\tZ"))
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while runs() {
        ensure!(Instant::now() < deadline, "process {process} goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
