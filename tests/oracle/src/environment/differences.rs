//! The differences from docker that are meant.
//!
//! docs/docker.md tells each of them to users, under "The environment of a command".

/// A difference: its two sides as docs/docker.md has them, and the values that it explains.
#[derive(Debug)]
pub(super) struct Difference {
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "it is for readers, and for the document's test")
    )]
    pub(super) docker: &'static str,
    /// msb's side, with the reason.
    pub(super) msb: &'static str,
    pub(super) values: &'static [Value],
}

/// A value that differs: a path in some cases, docker's value and msb's. A `*` stands for any text.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) case: &'static str,
    pub(super) path: &'static str,
    /// docker's value. [`HOST`] is any value: the host decides.
    pub(super) docker: &'static str,
    pub(super) msb: &'static str,
}

/// docker's value if it is that of the host's kernel or of its configuration. msb's value is checked all
/// the same, and the two may be equal.
pub(super) const HOST: &str = "(the host's)";
/// The value of a path that does not exist on one side.
pub(super) const ABSENT: &str = "(absent)";

const ANY: &str = "*";

impl Value {
    /// Returns true if this entry is about two values, which differ or depend on the host.
    pub(super) fn covers(&self, case: &str, path: &str, docker: &str, msb: &str) -> bool {
        let is_of_host = self.docker == HOST;
        matches(self.case, case)
            && matches(self.path, path)
            && (is_of_host || docker != msb && matches(self.docker, docker))
            && matches(self.msb, msb)
    }
}

/// Returns true if a text matches a pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(before) else {
        return false;
    };
    let mut ends = (0..=text.len()).filter(|end| text.is_char_boundary(*end));
    ends.any(|end| matches(rest, &text[end..]))
}

const fn every(path: &'static str, docker: &'static str, msb: &'static str) -> Value {
    only(ANY, path, docker, msb)
}

const fn only(
    case: &'static str,
    path: &'static str,
    docker: &'static str,
    msb: &'static str,
) -> Value {
    Value {
        case,
        path,
        docker,
        msb,
    }
}

/// The differences.
pub(super) const LIST: &[Difference] = &[
    Difference {
        docker: "root has 14 capabilities, and a seccomp filter",
        msb: "root has every capability and no filter: the machine's boundary confines it, not its kernel",
        values: &[
            every("capabilities.*", "00000000a80425fb", "000001ffffffffff"),
            every("rights.seccomp", "2", "0"),
        ],
    },
    Difference {
        docker: "`/proc/sys`, `/sys` and other files of the kernel are read-only or hidden, even for root",
        msb: "root may write to them, because the kernel is the sandbox's own; a user may not",
        values: &[
            every("mount./proc/*", ANY, ABSENT),
            every("mount./sys/firmware.*", ANY, ABSENT),
            every(
                "mount./sys.flags",
                "nodev,noexec,nosuid,relatime,ro",
                "nodev,noexec,nosuid,relatime,rw",
            ),
            every("mount./sys.options", "ro", "rw"),
            every("writable.*", "ReadOnlyFilesystem (30)", "yes"),
            every("writable.*", "NotFound (2)", "yes"),
            every("writable.*", "NotFound (2)", "PermissionDenied (13)"),
        ],
    },
    Difference {
        docker: "`/dev` has 10 devices",
        msb: "`/dev` has the machine's devices, which root may use; `/dev/fuse` and `/dev/net/tun` are open to users",
        values: &[
            every("device.*", ABSENT, "character device * 0600 0:0"),
            every("device.*", ABSENT, "block device * 0600 0:0"),
            every("device.*", ABSENT, "directory 0755 0:0"),
            every("device./dev/core", ABSENT, "link to /proc/kcore"),
            every(
                "device./dev/fuse",
                ABSENT,
                "character device 10:229 0666 0:0",
            ),
            every(
                "device./dev/net/tun",
                ABSENT,
                "character device 10:200 0666 0:0",
            ),
            every(
                "device./dev/autofs",
                ABSENT,
                "character device 10:235 0644 0:0",
            ),
            every("device./dev/kmsg", ABSENT, "character device 1:11 0644 0:0"),
            every("mount./dev.*", ANY, ANY),
        ],
    },
    Difference {
        docker: "with `-t`, `/dev/console` is the command's terminal",
        msb: "`/dev/console` is the machine's console; the terminal is `/dev/tty` and `/dev/pts`",
        values: &[
            only(
                "run*-t*",
                "device./dev/console",
                "terminal*",
                "character device 5:1 0600 0:0",
            ),
            only("run*-t*", "mount./dev/console.*", ANY, ABSENT),
            only("run*-t*", "terminal.is_console", "true", "false"),
            only("exec*-t*", "terminal.is_console", "NotFound (2)", "false"),
        ],
    },
    Difference {
        docker: "without `-i`, standard input is `/dev/null`, open to read and write",
        msb: "it is `/dev/null`, open to read",
        values: &[only("run*", "descriptor.0.flags", "read-write", "read")],
    },
    Difference {
        docker: "control groups are those of the host's version, at `/`",
        msb: "control groups are of version 2, and each command has one below `/`, the sandbox's",
        values: &[
            only("run*", "control_group.", HOST, "/init"),
            only("exec*", "control_group.", HOST, "/exec-*"),
            every("control_group.*", HOST, ABSENT),
            every("control_groups", HOST, "cgroup.controllers *"),
            every("mount./sys/fs/cgroup.*", HOST, ANY),
            every("mount./sys/fs/cgroup/*", HOST, ABSENT),
        ],
    },
    Difference {
        docker: "`/` is the storage driver's mount",
        msb: "`/` is an overlay of the image and the sandbox's writable disk, which `/run/msb` shows",
        values: &[
            every("mount./.options", HOST, ANY),
            every("mount./.propagates", HOST, "false"),
            every("mount./run/msb*", ABSENT, ANY),
            every(
                "entries./run",
                "lock mount service",
                "lock mount msb service",
            ),
        ],
    },
    Difference {
        docker: "`/etc/hosts`, `/etc/hostname` and `/etc/resolv.conf` are mounted from the host's disk; `hosts` has the \
            multicast names of IPv6, and the resolver is the host's",
        msb: "they are mounted from memory; `hosts` has `host.msb.internal`, and the resolver is the gateway, which \
            asks the host's",
        values: &[
            every("mount./etc/*", HOST, ANY),
            every("host.hosts.*", ANY, "192.0.0.2 NAME"),
            every("host.hosts.*", ANY, "192.0.0.1 host.msb.internal"),
            every("host.hosts.*", ANY, ABSENT),
            every("host.resolver.nameserver", HOST, "192.0.0.1"),
        ],
    },
    Difference {
        docker: "with `-d -t`, the terminal has no size",
        msb: "it has 80 columns and 24 rows",
        values: &[only("run -d -t*", "terminal.size", "0 by 0", "80 by 24")],
    },
    Difference {
        docker: "the host name is the container's ID",
        msb: "the host name is the sandbox's name, if it has one",
        values: &[
            only("exec*", "host.name", "12 hexadecimal digits", "holder"),
            only("run -d*", "host.name", "12 hexadecimal digits", "detached"),
        ],
    },
    Difference {
        docker: "`/.dockerenv` exists, and `/etc/mtab` if the image has none",
        msb: "neither is made: files of the root are the image's or the command's",
        values: &[
            every("file./.dockerenv", "file 0755 0:0", "NotFound (2)"),
            every("entries./", ".dockerenv *", "bin *"),
            every("file./etc/mtab", "link to /proc/mounts", "NotFound (2)"),
        ],
    },
    Difference {
        docker: "`/dev/shm` has 64 MiB",
        msb: "half of the sandbox's memory, unless `--shm-size` says otherwise",
        values: &[every(
            "mount./dev/shm.options",
            "rw,size=65536k",
            // The kernel does not name a half, its default.
            "rw",
        )],
    },
    Difference {
        docker: "the host's kernel has audit and key rings, and writes ELF headers into core dumps",
        msb: "msb's kernel leaves the three out",
        values: &[
            every("core_dump_filter", "00000033", "00000023"),
            every("identity.login", ANY, "NotFound (2)"),
            every("setting.kernel/keys/maxkeys", ANY, "NotFound (2)"),
        ],
    },
    Difference {
        docker: "limits of processes, files and signals, and ignored signals, are those of the daemon",
        msb: "processes are not limited, open files are limited to 1,048,576, pending signals follow from the memory, and no signal is ignored",
        values: &[
            every("limits.processes", HOST, "unlimited unlimited"),
            every("limits.open_files", HOST, "1048576 1048576"),
            every("limits.pending_signals", HOST, ANY),
            every("limits.locked_memory", HOST, "8388608 8388608"),
            every("limits.core_file_size", HOST, "0 unlimited"),
            every("signals.ignored", HOST, "0000000000000000"),
        ],
    },
    Difference {
        docker: "settings of the kernel are the host's, except for ports and pings, which are open to users",
        msb: "they are those of a host of docker or higher; [guest.md](guest.md#kernel-settings) lists them, and `--sysctl` sets them",
        values: &[
            every("setting.fs/inotify/max_user_instances", HOST, "1024"),
            every("setting.fs/inotify/max_user_watches", HOST, "524288"),
            every("setting.fs/protected_hardlinks", HOST, "1"),
            every("setting.fs/protected_symlinks", HOST, "1"),
            every("setting.kernel/pid_max", HOST, ANY),
            every("setting.net/ipv6/conf/all/disable_ipv6", HOST, "0"),
            every("setting.vm/max_map_count", HOST, "1048576"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("a*c*", "abcd") && matches("*", "") && matches("x", "x"));
        assert!(!matches("a*c", "abcd") && !matches("", "x") && !matches("x*", "y"));
    }

    #[test]
    fn the_document_for_users_of_docker_has_each_difference() {
        let path = test_fixtures::paths::root().join("docs/docker.md");
        let text = fs_err::read_to_string(path).expect("a file of the repository");
        let rows = LIST
            .iter()
            .map(|each| format!("| {} | {} |", each.docker, each.msb));
        let missing: Vec<String> = rows.filter(|row| !text.contains(row)).collect();
        assert_eq!(missing, [""; 0]);
    }
}
