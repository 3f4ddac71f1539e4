use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use rustix::process::{Pid, Signal, kill_process_group};
use test_support::run_through;

const TIME_LIMIT: Duration = Duration::from_secs(180);

/// The calls that a disk can answer with an error, without those that only map or close.
const ON_FILES: &str = "openat,read,pread64,write,pwrite64,lseek,fsync,fdatasync,syncfs,ftruncate,\
    rename,renameat2,linkat,symlinkat,mkdir,unlink,unlinkat,utimensat,flock,statx,newfstatat,\
    getdents64,copy_file_range,fallocate";

/// A call of a traced program, as strace prints it.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    /// The arguments and the answer, including the paths of descriptors.
    pub(super) text: String,
    /// The thread's ID.
    pub(super) thread: String,
    /// The number of this call among the calls of its name in its thread, from 1.
    pub(super) ordinal: u32,
}

impl Call {
    pub(super) fn is_injected(&self) -> bool {
        self.text.ends_with("(INJECTED)")
    }

    /// Returns the absolute paths in the arguments and of the descriptors.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        let parts = self.text.split(['"', '<', '>']);
        parts.filter(|part| part.starts_with('/')).map(Path::new)
    }
}

/// A fault that is injected into calls, which are then not made.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Fault {
    pub(super) call: String,
    /// Only calls that name this path, or have a descriptor of it; all calls if it is `None`.
    pub(super) path: Option<PathBuf>,
    /// The number of the call among those of its name in each thread, from 1.
    pub(super) ordinal: u32,
    /// True if every later call fails too.
    pub(super) lasting: bool,
    pub(super) effect: Effect,
}

/// The effect of a fault.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Effect {
    /// The call returns this error.
    Error(&'static str),
    /// The process is killed.
    Kill,
}

impl Fault {
    /// Returns the fault as an option of strace.
    fn option(&self) -> String {
        let Self { call, ordinal, .. } = self;
        let effect = match self.effect {
            Effect::Error(error) => format!("error={error}"),
            Effect::Kill => "signal=KILL".to_owned(),
        };
        let lasting = if self.lasting { "+" } else { "" };
        format!("inject={call}:{effect}:when={ordinal}{lasting}")
    }
}

/// The result of a traced command.
pub(super) struct Traced {
    /// `None` if the command had to be killed.
    pub(super) output: Option<Output>,
    pub(super) calls: Vec<Call>,
}

/// Runs a command for at most three minutes and records its calls; may inject a fault.
pub(super) fn trace(command: &Command, fault: Option<&Fault>, log: &Path) -> Result<Traced> {
    trace_calls(ON_FILES, command, fault, log)
}

/// Runs a command as [`trace`] does, and records the calls with these names, between commas.
pub(super) fn trace_calls(
    names: &str,
    command: &Command,
    fault: Option<&Fault>,
    log: &Path,
) -> Result<Traced> {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-s", "0", "-o"]).arg(log);
    strace.args(["-e", &format!("trace={names}")]);
    if let Some(fault) = fault {
        strace.args(["-e", &fault.option()]);
        strace.args(fault.path.iter().flat_map(|path| [Path::new("-P"), path]));
    }
    run_through(&mut strace, command);
    let output = output_in_time(&mut strace).context("cannot run strace")?;
    let calls = calls(&fs::read_to_string(log)?);
    Ok(Traced { output, calls })
}

/// Returns the output of a command; `None` if it and its children had to be killed.
fn output_in_time(command: &mut Command) -> Result<Option<Output>> {
    let pipes = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = pipes.process_group(0).spawn()?;
    let group = Pid::from_child(&child);
    let (ended, end) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let output = child.wait_with_output();
        let _ = ended.send(());
        output
    });
    let in_time = end.recv_timeout(TIME_LIMIT).is_ok();
    if !in_time {
        kill_process_group(group, Signal::KILL)?;
    }
    let output = waiter
        .join()
        .map_err(|_| anyhow!("the waiting thread failed"))??;
    Ok(in_time.then_some(output))
}

/// Returns the places where a fault would strike one of these calls.
pub(super) fn places<'a>(calls: impl Iterator<Item = &'a Call>) -> Vec<(String, u32)> {
    let places: BTreeSet<_> = calls
        .map(|call| (call.name.clone(), call.ordinal))
        .collect();
    places.into_iter().collect()
}

/// Parses strace's lines; a call that another thread interrupts is in two of them.
fn calls(log: &str) -> Vec<Call> {
    let mut begun: HashMap<&str, &str> = HashMap::new();
    let mut counts: HashMap<(&str, String), u32> = HashMap::new();
    let mut calls = Vec::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let rest = rest.trim_start();
        if let Some(head) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, head);
            continue;
        }
        let resumed = rest.strip_prefix("<... ").and_then(|rest| {
            let (_, tail) = rest.split_once(" resumed>")?;
            Some(format!("{}{tail}", begun.remove(thread)?))
        });
        let whole = resumed.unwrap_or_else(|| rest.to_owned());
        let Some((name, _)) = whole.split_once('(') else {
            continue;
        };
        let name = name.to_owned();
        let count = counts.entry((thread, name.clone())).or_default();
        *count += 1;
        calls.push(Call {
            name,
            thread: thread.to_owned(),
            ordinal: *count,
            text: whole,
        });
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::calls;

    #[test]
    fn a_call_in_two_lines_is_one() {
        let log = "7 write(3</a>, \"\"..., 5) = 5\n\
            7 write(3</a>, \"\"..., 5 <unfinished ...>\n\
            8 write(4</b>, \"\"..., 1) = -1 EIO (Input/output error) (INJECTED)\n\
            7 <... write resumed>) = 5\n\
            7 +++ exited with 0 +++\n";
        let calls = calls(log);
        let found: Vec<_> = calls
            .iter()
            .map(|call| (call.text.as_str(), call.ordinal, call.is_injected()))
            .collect();
        let injected = "write(4</b>, \"\"..., 1) = -1 EIO (Input/output error) (INJECTED)";
        assert_eq!(
            found,
            [
                ("write(3</a>, \"\"..., 5) = 5", 1, false),
                (injected, 1, true),
                ("write(3</a>, \"\"..., 5) = 5", 2, false),
            ]
        );
    }
}
