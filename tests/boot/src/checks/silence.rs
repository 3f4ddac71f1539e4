use std::process::{Command, Output};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process};

use super::durability::remove;
use super::snapshots::told;
use test_support::{Speaking, TestEnv, describe, expect_code};

const HOSTILE: &str = "checks-silent";
const HUNG: &str = "checks-hung";
/// Stops PID 1, which is the agent, as a debugger does, once `/go` exists: the agent has then passed on
/// the first line. Says so on the console, because the agent passes nothing on any more. 16 is PTRACE_ATTACH, 0x40000000 is __WALL.
pub(super) const STOP_AGENT: &str = "\
import ctypes, os, signal, time
print('up', flush=True)
while not os.path.exists('/go'):
    time.sleep(0.05)
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
if ptrace(16, 1, None, None) != 0:
    os.abort()
os.waitpid(1, 0x40000000)
open('/dev/hvc0', 'w').write('the agent is stopped\\n')
signal.pause()
";
/// The last line of `STOP_AGENT`.
const STOPPED: &str = "the agent is stopped";

/// The time after which a call on a silent agent ends, and a machine with one that is to end.
const CALL_TIME: Duration = Duration::from_secs(15);
const END_TIME: Duration = Duration::from_secs(10);
/// Time for the rest of a command's work on an overloaded host.
const SLACK: Duration = Duration::from_secs(60);
/// Time for the guest to start Python and stop the agent.
const BOOT_TIME: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Checks that commands on a guest whose root has stopped the agent fail in time, and that the guest
/// is ended in time; so is one whose VMM hangs.
pub(super) fn given_up(env: &TestEnv) -> Result<()> {
    let script = format!("exec python3 -c \"{STOP_AGENT}\"");
    let is_qemu = env.vmm() == "qemu";
    let first = start(env, HOSTILE, &[], &script)?;
    // The agent may be stopped before it tells the end of this command.
    let go = in_background(env, &["exec", HOSTILE, "touch", "/go"]);
    await_stop(env, HOSTILE)?;
    let copy = env.work.join("hosts");
    let copy = copy.to_str().context("a path in UTF-8")?;
    let source = format!("{HOSTILE}:/etc/hosts");
    let calls = [
        &["exec", HOSTILE, "true"][..],
        &["fs", "ls", HOSTILE, "/"],
        &["cp", &source, copy],
    ];
    let calls = calls.map(|words| (words[0], in_background(env, words)));
    if is_qemu {
        hung_vmm(env)?;
        cut_without_agent(env)?;
    }
    for (name, call) in calls {
        let (output, took) = call.join().map_err(|_| anyhow!("a call panicked"))??;
        expect_code(&output, 125)?;
        ensure!(
            describe(&output).contains("the guest's agent has not answered for 15 s"),
            "{}",
            describe(&output)
        );
        ensure!(took < CALL_TIME + SLACK, "{name} took {took:?}");
    }
    let began = Instant::now();
    let stopped = env.msb().args(["stop", "-t", "1", HOSTILE]).output()?;
    let took = began.elapsed();
    expect_code(&stopped, 0)?;
    ensure!(
        describe(&stopped).contains("did not stop in time and was killed"),
        "{}",
        describe(&stopped)
    );
    ensure!(took < END_TIME + SLACK, "the stop took {took:?}");
    expect_code(&first.end()?, 125)?;
    go.join().map_err(|_| anyhow!("a call panicked"))??;
    remove(env, HOSTILE)
}

/// Checks that snapshots of a guest whose agent is silent are taken, and said to be as after a power cut.
fn cut_without_agent(env: &TestEnv) -> Result<()> {
    for options in [&[][..], &["--no-freeze"]] {
        let words = [&["snapshot", "create"], options, &[HOSTILE]].concat();
        let began = Instant::now();
        told(env, &words)?;
        let took = began.elapsed();
        ensure!(took < CALL_TIME + SLACK, "the snapshot took {took:?}");
    }
    let listed = told(
        env,
        &["snapshot", "ls", "--format", "{{.consistency}}", HOSTILE],
    )?;
    ensure!(listed == "crash\ncrash\n", "{listed}");
    told(env, &["snapshot", "verify", HOSTILE]).map(drop)
}

/// Checks that a sandbox with a limit of its time ends in time although its VMM is stopped.
fn hung_vmm(env: &TestEnv) -> Result<()> {
    // 20 s: the machine has to be stopped before.
    let limit = Duration::from_secs(20);
    let options = ["--max-duration", "20s"];
    let run = start(env, HUNG, &options, "echo up; exec sleep 600")?;
    let began = Instant::now();
    kill_process(qemu(env.machine_pid(HUNG)?)?, Signal::STOP)?;
    let output = run.end()?;
    let took = began.elapsed();
    expect_code(&output, 124)?;
    ensure!(
        took < limit + END_TIME + SLACK,
        "the sandbox ended after {took:?}"
    );
    let waited = env.msb().args(["wait", HUNG]).output()?;
    expect_code(&waited, 124)?;
    remove(env, HUNG)
}

fn start(env: &TestEnv, name: &str, options: &[&str], script: &str) -> Result<Speaking> {
    env.speaking("up", || {
        remove(env, name)?;
        // In its own namespaces the command could not stop the agent.
        let options = [&["--name", name, "--pid", "host"], options].concat();
        Ok(env.run_command(&options, &["sh", "-c", script]))
    })
}

/// Waits until a guest says on its console that the agent is stopped.
pub(super) fn await_stop(env: &TestEnv, name: &str) -> Result<()> {
    let deadline = Instant::now() + BOOT_TIME;
    loop {
        let mut console = env.msb();
        let console = console.args(["logs", "--source", "console", name]);
        let output = console.output()?;
        if String::from_utf8_lossy(&output.stdout).contains(STOPPED) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{}", describe(&output));
        sleep(POLL_INTERVAL);
    }
}

type Call = JoinHandle<Result<(Output, Duration)>>;

fn in_background(env: &TestEnv, words: &[&str]) -> Call {
    let mut command: Command = env.msb();
    command.args(words);
    spawn(move || {
        let began = Instant::now();
        Ok((command.output()?, began.elapsed()))
    })
}

/// Returns the process of QEMU below a machine's process.
fn qemu(machine: u32) -> Result<Pid> {
    let mut found = None;
    for thread in fs::read_dir(format!("/proc/{machine}/task"))? {
        let children = fs::read_to_string(thread?.path().join("children"))?;
        for child in children.split_whitespace() {
            let name = fs::read_to_string(format!("/proc/{child}/comm"))?;
            if name.starts_with("qemu") {
                found = Some(child.parse()?);
            }
        }
    }
    let pid = found.and_then(Pid::from_raw);
    pid.with_context(|| format!("process {machine} has no QEMU"))
}
