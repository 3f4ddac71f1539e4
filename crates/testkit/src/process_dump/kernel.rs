//! Settings of the kernel that programs depend on.

use std::fs::{self, OpenOptions};
use std::path::Path;

use super::{ProcessDump, name_of, words};

/// Settings, below `/proc/sys`. Those that follow from the size of memory are left out.
const SETTINGS: [&str; 38] = [
    "fs/aio-max-nr",
    "fs/inotify/max_queued_events",
    "fs/inotify/max_user_instances",
    "fs/inotify/max_user_watches",
    "fs/mqueue/msg_max",
    "fs/mqueue/msgsize_max",
    "fs/mqueue/queues_max",
    "fs/nr_open",
    "fs/pipe-max-size",
    "fs/pipe-user-pages-soft",
    "fs/protected_fifos",
    "fs/protected_hardlinks",
    "fs/protected_regular",
    "fs/protected_symlinks",
    "fs/suid_dumpable",
    "kernel/cap_last_cap",
    "kernel/core_pattern",
    "kernel/domainname",
    "kernel/keys/maxkeys",
    "kernel/msgmax",
    "kernel/msgmnb",
    "kernel/ngroups_max",
    "kernel/overflowuid",
    "kernel/pid_max",
    "kernel/randomize_va_space",
    "kernel/sem",
    "kernel/shmall",
    "kernel/shmmax",
    "kernel/shmmni",
    "net/core/somaxconn",
    "net/ipv4/ip_forward",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/ip_unprivileged_port_start",
    "net/ipv4/ping_group_range",
    "net/ipv6/conf/all/disable_ipv6",
    "vm/max_map_count",
    "vm/overcommit_memory",
    "vm/swappiness",
];
/// Files of the kernel that programs open to see whether they may change it.
const WRITTEN: [&str; 6] = [
    "/proc/sys/kernel/hostname",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper",
    "/sys/fs/cgroup/cgroup.procs",
    "/dev/kmsg",
];

pub(super) fn read(dump: &mut ProcessDump) {
    for name in SETTINGS {
        let value = fs::read_to_string(Path::new("/proc/sys").join(name));
        dump.set_read(format!("setting.{name}"), value.map(|value| words(&value)));
    }
    for path in WRITTEN {
        // Nothing is written.
        let value = match OpenOptions::new().write(true).open(path) {
            Ok(_) => "yes".to_owned(),
            Err(error) => name_of(&error),
        };
        dump.set(format!("writable.{path}"), value);
    }
}
