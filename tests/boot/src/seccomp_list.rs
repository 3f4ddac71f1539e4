//! Measures the system calls of msb's own threads after they are confined.
//!
//! The list that their filter allows is made from it by hand (`seccomp/allow.rs` of msb-jail).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::attacks::network;
use test_support::{TestEnv, run_through};

/// The command of the traced sandbox: output, some time for other threads, and an end.
const SCRIPT: &str = "seq 100000; sleep 2; exit 3";
const NAME: &str = "seccomp-list";

/// Traces a detached sandbox from its start to its end, and a network under attack. Returns a line
/// for each kind of thread: `supervisor`, `machine`, the other threads that the VMM starts in the
/// process, and `network`.
pub fn run(env: &TestEnv) -> Result<String> {
    let mut kinds = of_machine(env)?;
    kinds.insert("network".to_owned(), of_network(env)?);
    let lines = kinds.into_iter().map(|(thread, calls)| {
        let calls: Vec<_> = calls.into_iter().collect();
        format!("{thread}: {}", calls.join(" "))
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns the calls of a confined network process while it is flooded in every way.
fn of_network(env: &TestEnv) -> Result<BTreeSet<String>> {
    let trace = trace_file();
    let file = trace.to_str().context("a path in UTF-8")?;
    // Each flood has a process of its own, and the trace takes all of them.
    network::run_wrapped(&env.program, &["strace", "-f", "-qq", "-A", "-o", file])?;
    let text = fs_err::read_to_string(&trace)?;
    fs_err::remove_file(&trace)?;
    Threads::read(&text).confined_programs("__network")
}

fn of_machine(env: &TestEnv) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let trace = trace_file();
    let run = env.run_command(&["-d", "--rm", "--name", NAME], &["sh", "-c", SCRIPT]);
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-s", "256", "-o"])
        .arg(&trace)
        .stdout(Stdio::null());
    run_through(&mut strace, &run);
    let status = strace.status().context("cannot run strace")?;
    ensure!(status.success(), "msb run gave {status}");
    let text = fs_err::read_to_string(&trace)?;
    fs_err::remove_file(&trace)?;
    Threads::read(&text).confined()
}

fn trace_file() -> PathBuf {
    std::env::temp_dir().join(format!("msb-seccomp-list-{}", std::process::id()))
}

/// A thread, as strace shows it.
#[derive(Debug, Default)]
struct Thread {
    parent: u32,
    name: Option<String>,
    /// The command line of the last program that it executed.
    program: Option<Vec<String>>,
    is_confined: bool,
    /// The calls since it was confined, or else since it began.
    calls: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Threads(BTreeMap<u32, Thread>);

impl Threads {
    fn read(trace: &str) -> Self {
        let mut threads = Self::default();
        for line in trace.lines() {
            let Some((id, event)) = line.split_once(' ') else {
                continue;
            };
            if let Ok(id) = id.parse() {
                threads.add(id, event.trim_start());
            }
        }
        threads
    }

    fn add(&mut self, id: u32, event: &str) {
        let Some(name) = call_name(event) else { return };
        // The call that sets a filter returns before the last filter takes effect.
        if event.starts_with("<... seccomp") {
            return;
        }
        if matches!(name, "clone" | "clone3" | "vfork") {
            self.add_child(id, event);
        }
        let thread = self.0.entry(id).or_default();
        if event.starts_with("execve(") {
            let words = event.split('"').skip(3).step_by(2);
            thread.program = Some(words.map(str::to_owned).collect());
        } else if event.starts_with("prctl(PR_SET_NAME") {
            thread.name = event.split('"').nth(1).map(str::to_owned);
        } else if event.starts_with("seccomp(SECCOMP_SET_MODE_FILTER") {
            thread.is_confined = true;
            thread.calls.clear();
            return;
        }
        thread.calls.insert(name.to_owned());
    }

    fn add_child(&mut self, parent: u32, event: &str) {
        let child = event.rsplit("= ").next().and_then(|id| id.parse().ok());
        if let Some(child) = child {
            self.0.entry(child).or_default().parent = parent;
        }
    }

    /// Returns the calls of the VMM process and of its threads.
    fn confined(&self) -> Result<BTreeMap<String, BTreeSet<String>>> {
        let is_machine = |thread: &Thread| {
            let words = thread.program.as_ref();
            words.is_some_and(|words| words.iter().any(|word| word == "__vmm"))
        };
        let machine = self.0.iter().find(|(_, thread)| is_machine(thread));
        let (&machine, thread) = machine.context("strace saw no machine's process")?;
        ensure!(thread.is_confined, "the machine's process is not confined");
        let mut kinds = BTreeMap::from([("machine".to_owned(), thread.calls.clone())]);
        let threads = self.0.values().filter(|thread| thread.program.is_none());
        for thread in threads.filter(|thread| self.descends(thread, machine)) {
            let name = thread.name.as_deref().unwrap_or("unnamed");
            let calls = kinds.entry(name.to_owned()).or_default();
            calls.extend(thread.calls.iter().cloned());
        }
        Ok(kinds)
    }

    /// Returns the calls of every process that runs msb with this subcommand.
    fn confined_programs(&self, subcommand: &str) -> Result<BTreeSet<String>> {
        let mut calls = BTreeSet::new();
        for (id, thread) in &self.0 {
            let words = thread.program.iter().flatten();
            if words.into_iter().any(|word| word == subcommand) {
                ensure!(thread.is_confined, "process {id} is not confined");
                calls.extend(thread.calls.iter().cloned());
            }
        }
        ensure!(!calls.is_empty(), "strace saw no msb {subcommand}");
        Ok(calls)
    }

    /// Returns true if a thread descends from another without executing a program in between.
    fn descends(&self, thread: &Thread, from: u32) -> bool {
        let mut parent = thread.parent;
        // No thread is its own ancestor, but a trace may be cut.
        for _ in 0..self.0.len() {
            if parent == from {
                return true;
            }
            match self.0.get(&parent) {
                Some(next) if next.program.is_none() => parent = next.parent,
                _ => return false,
            }
        }
        false
    }
}

/// Returns the name of the call that a line begins or resumes; `None` if it has no call.
fn call_name(event: &str) -> Option<&str> {
    let event = event.strip_prefix("<... ").unwrap_or(event);
    let end = event.find(|byte: char| !(byte.is_ascii_alphanumeric() || byte == '_'))?;
    let (name, follows) = event.split_at(end);
    let is_call = follows.starts_with('(') || follows.starts_with(" resumed");
    (is_call && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_follows_the_filter_counts_and_programs_are_left_out() {
        let trace = "\
            1 execve(\"/bin/msb\", [\"/bin/msb\", \"run\"], 0x1) = 0\n\
            1 clone3({flags=CLONE_VFORK}, 88 <unfinished ...>\n\
            2 execve(\"/bin/msb\", [\"/bin/msb\", \"--home\", \"/h\", \"__vmm\"], 0x1) = 0\n\
            1 <... clone3 resumed>) = 2\n\
            2 openat(1) = 3\n\
            2 clone(flags=CLONE_THREAD) = 3\n\
            3 prctl(PR_SET_NAME, \"supervisor\") = 0\n\
            3 mkdir(1) = 0\n\
            3 seccomp(SECCOMP_SET_MODE_FILTER, 0, x) = 0\n\
            3 epoll_wait(1 <unfinished ...>\n\
            2 clone(flags=CLONE_VFORK) = 4\n\
            4 execve(\"/bin/qemu\", [\"qemu\"], 0x1) = 0\n\
            4 ioctl(1) = 0\n\
            2 seccomp(SECCOMP_SET_MODE_FILTER, 0, x) = 0\n\
            2 wait4(4) = 4\n\
            3 <... epoll_wait resumed>) = 1\n";
        let calls = Threads::read(trace).confined().unwrap();
        let of = |name: &str| -> Vec<_> { calls[name].iter().map(String::as_str).collect() };
        assert_eq!(of("machine"), ["wait4"]);
        assert_eq!(of("supervisor"), ["epoll_wait"]);
        assert_eq!(calls.len(), 2);
        let network = "\
            7 execve(\"/bin/msb\", [\"/bin/msb\", \"__network\", \"/d\"], 0x1) = 0\n\
            7 openat(1) = 3\n\
            7 seccomp(SECCOMP_SET_MODE_FILTER, 0, x) = 0\n\
            7 connect(1) = 0\n";
        let calls = Threads::read(network)
            .confined_programs("__network")
            .unwrap();
        assert_eq!(calls.into_iter().collect::<Vec<_>>(), ["connect"]);
        assert!(Threads::read(trace).confined_programs("__network").is_err());
    }
}
