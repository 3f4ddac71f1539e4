//! Identity, rights, limits, signals and relatives of this process, of `/proc/self`.

use std::fs;

use super::{ProcessDump, words};

/// Lines of `/proc/self/status`, and the paths of their values.
const STATUS: [(&str, &str); 13] = [
    ("Uid", "identity.user"),
    ("Gid", "identity.group"),
    ("Groups", "identity.groups"),
    ("CapInh", "capabilities.inheritable"),
    ("CapPrm", "capabilities.permitted"),
    ("CapEff", "capabilities.effective"),
    ("CapBnd", "capabilities.bounding"),
    ("CapAmb", "capabilities.ambient"),
    ("NoNewPrivs", "rights.no_new_privs"),
    ("Seccomp", "rights.seccomp"),
    ("Umask", "umask"),
    ("SigBlk", "signals.blocked"),
    ("PPid", "process.parent"),
];
/// Signals that Rust's runtime ignores or catches before `main`: SIGPIPE; SIGBUS and SIGSEGV.
const RUNTIME_IGNORES: u64 = 1 << 12;
const RUNTIME_CATCHES: u64 = 1 << 6 | 1 << 10;
/// Fields of `/proc/self/stat`, counted from the one behind the program's name.
const STAT: [(usize, &str); 3] = [
    (16, "scheduling.nice"),
    (38, "scheduling.policy"),
    (37, "scheduling.real_time_priority"),
];
/// Fields with numbers of processes.
const PROCESSES: [(usize, &str); 3] = [
    (2, "process.group"),
    (3, "process.session"),
    (5, "process.terminal_group"),
];
/// Files of `/proc/self` of one value.
const FILES: [(&str, &str); 6] = [
    ("oom_score_adj", "scheduling.oom_score_adj"),
    ("timerslack_ns", "scheduling.timer_slack_ns"),
    ("personality", "personality"),
    ("coredump_filter", "core_dump_filter"),
    ("loginuid", "identity.login"),
    ("setgroups", "identity.setgroups"),
];

pub(super) fn read(dump: &mut ProcessDump) {
    status(dump);
    stat(dump);
    for (file, path) in FILES {
        dump.set_read(path, fs::read_to_string(format!("/proc/self/{file}")));
    }
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    for line in limits.lines().skip(1) {
        // Columns of 26, 21 and 21 characters.
        if let (Some(name), Some(values)) = (line.get(..26), line.get(26..68)) {
            let name = name.trim().trim_start_matches("Max ").replace(' ', "_");
            dump.set(format!("limits.{name}"), words(values));
        }
    }
    for line in fs::read_to_string("/proc/self/cgroup")
        .unwrap_or_default()
        .lines()
    {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        dump.set(format!("control_group.{controllers}"), group);
    }
    for map in ["uid_map", "gid_map"] {
        let text = fs::read_to_string(format!("/proc/self/{map}"));
        dump.set_read(format!("namespace.{map}"), text.map(|text| words(&text)));
    }
    variables(dump);
    others(dump);
}

fn status(dump: &mut ProcessDump) {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    for (name, value) in lines {
        if let Some((_, path)) = STATUS.iter().find(|(known, _)| *known == name) {
            dump.set(*path, words(value));
        }
        let less = match name {
            "SigIgn" => ("signals.ignored", RUNTIME_IGNORES),
            "SigCgt" => ("signals.caught", RUNTIME_CATCHES),
            _ => continue,
        };
        let mask = u64::from_str_radix(value.trim(), 16).unwrap_or(u64::MAX);
        dump.set(less.0, format!("{:016x}", mask & !less.1));
    }
}

fn stat(dump: &mut ProcessDump) {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name is in parentheses, and may have some itself.
    let Some((_, rest)) = text.rsplit_once(')') else {
        return;
    };
    let fields: Vec<&str> = rest.split_whitespace().collect();
    for (index, path) in STAT {
        dump.set(path, fields.get(index).unwrap_or(&"missing"));
    }
    // A command of `exec` has another number each time.
    let own = std::process::id().to_string();
    dump.set("process.is_first", own == "1");
    for (index, path) in PROCESSES {
        let number = fields.get(index).unwrap_or(&"missing");
        let is_own = *number == own;
        dump.set(path, if is_own { "this process" } else { number });
    }
    let has_terminal = fields.get(4).is_some_and(|device| *device != "0");
    dump.set("process.has_controlling_terminal", has_terminal);
}

/// Adds the variables of the environment, the arguments and the working directory.
fn variables(dump: &mut ProcessDump) {
    let host_name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    for (name, value) in std::env::vars_os() {
        let path = format!("variable.{}", name.to_string_lossy());
        let value = value.to_string_lossy();
        // Each container has another name.
        let is_host_name = value == host_name.trim();
        dump.set(path, if is_host_name { "NAME" } else { &value });
    }
    let arguments: Vec<_> = std::env::args_os().collect();
    dump.set("process.arguments", format!("{arguments:?}"));
    let directory = std::env::current_dir();
    dump.set_read(
        "process.directory",
        directory.map(|path| path.display().to_string()),
    );
    for link in ["root", "exe"] {
        let target = fs::read_link(format!("/proc/self/{link}"));
        dump.set_read(
            format!("process.{link}"),
            target.map(|path| path.display().to_string()),
        );
    }
}

/// Adds the processes that this one sees.
fn others(dump: &mut ProcessDump) {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = std::process::id().to_string();
    let mut count = 0;
    for name in entries.filter_map(|entry| entry.file_name().into_string().ok()) {
        if !name.bytes().all(|byte| byte.is_ascii_digit()) || name == own {
            continue;
        }
        count += 1;
        if name == "1" {
            dump.set_read("processes.1", fs::read_to_string("/proc/1/comm"));
        }
    }
    dump.set("processes.others", count);
}
