//! Options that msb does not have.

use Effect::{Needless, Refused};

/// Options of Docker or Podman that some commands share.
#[derive(Debug, Clone, Copy)]
pub struct OptionGroup {
    /// The commands' words, such as `volume create`.
    pub commands: &'static [&'static str],
    /// The options' names, with their dashes.
    pub names: &'static [&'static str],
    /// The effect of each option.
    pub effect: Effect,
}

/// The effect of an option that was typed.
#[derive(Debug, Clone, Copy)]
pub enum Effect {
    /// The option is refused; the text names the alternative.
    Refused(&'static str),
    /// The option is accepted and changes nothing.
    Needless {
        /// True if the option has a value.
        takes_value: bool,
        /// The reason, in one line.
        why: &'static str,
    },
}

/// The commands that create a sandbox.
const CREATE: &[&str] = &["run", "create"];

const fn group(
    commands: &'static [&'static str],
    names: &'static [&'static str],
    effect: Effect,
) -> OptionGroup {
    OptionGroup {
        commands,
        names,
        effect,
    }
}

/// Returns the effect of a flag that is accepted, with `=true` or without.
const fn flag(why: &'static str) -> Effect {
    Needless {
        takes_value: false,
        why,
    }
}

/// Returns the effect of an option with a value that is accepted.
const fn value(why: &'static str) -> Effect {
    Needless {
        takes_value: true,
        why,
    }
}

const CAPABILITIES: &str = "root in a sandbox always has every capability of the guest's kernel";
const NO_SIGNATURES: &str = "msb checks digests, but not signatures";
const NO_SWAP: &str = "a guest has no swap";

/// Every option of Docker, and the common options of Podman, that msb does not have.
pub const ALL: &[OptionGroup] = &[
    group(
        &["run", "create", "exec"],
        &["--privileged"],
        flag(CAPABILITIES),
    ),
    group(CREATE, &["--cap-add"], value(CAPABILITIES)),
    group(
        CREATE,
        &["--cap-drop"],
        value(
            "root in a sandbox is root only in the guest; -u USER runs the command without \
             capabilities",
        ),
    ),
    group(
        CREATE,
        &["--security-opt"],
        value(
            "a virtual machine confines the sandbox; set-user-ID programs of the image work in it",
        ),
    ),
    group(
        &["run", "create", "pull", "push"],
        &["--disable-content-trust"],
        flag(NO_SIGNATURES),
    ),
    group(
        CREATE,
        &["--memory-reservation"],
        value("memory that a guest does not need goes back to the host"),
    ),
    group(
        CREATE,
        &["--memory-swap", "--memory-swappiness"],
        value(NO_SWAP),
    ),
    group(
        CREATE,
        &["--no-healthcheck"],
        flag("msb does not run health checks"),
    ),
    group(
        &["inspect"],
        &["--size", "-s"],
        flag("msb inspect always shows allocated_bytes"),
    ),
    group(
        &["login"],
        &["--password", "-p"],
        Refused(
            "other users can see the arguments of a command; type the password when msb login asks \
             for it, or pass it with --password-stdin",
        ),
    ),
    group(
        CREATE,
        &["--annotation", "--label-file"],
        Refused("--label KEY=VALUE marks a sandbox"),
    ),
    group(
        CREATE,
        &["--attach", "-a"],
        Refused(
            "msb run shows the command's output unless -d is given, and -i passes on its input",
        ),
    ),
    group(
        CREATE,
        &["--authfile", "--creds"],
        Refused("credentials come from docker's config.json, in $DOCKER_CONFIG or ~/.docker"),
    ),
    group(
        CREATE,
        &[
            "--blkio-weight",
            "--blkio-weight-device",
            "--device-read-bps",
            "--device-read-iops",
            "--device-write-bps",
            "--device-write-iops",
        ],
        Refused(
            "start msb run in a control group with such limits, which systemd-run --scope creates",
        ),
    ),
    group(
        CREATE,
        &["--cgroup-parent"],
        Refused("start msb run in that control group, as systemd-run --scope --slice does"),
    ),
    group(
        CREATE,
        &["--cgroupns", "--ipc", "--userns", "--uts"],
        Refused(
            "a sandbox has its own kernel and shares no namespace with the host or other sandboxes",
        ),
    ),
    group(
        CREATE,
        &[
            "--cpu-period",
            "--cpu-quota",
            "--cpu-rt-period",
            "--cpu-rt-runtime",
            "--cpu-shares",
            "-c",
        ],
        Refused(
            "--cpus gives whole processors, and systemd-run --scope -p CPUQuota=150% msb run gives parts",
        ),
    ),
    group(
        CREATE,
        &["--cpuset-cpus", "--cpuset-mems"],
        Refused("taskset or numactl before msb run bind a sandbox to processors and memory"),
    ),
    group(
        &["run", "create", "exec", "attach", "start"],
        &["--detach-keys"],
        Refused("Ctrl-P Ctrl-Q detaches"),
    ),
    group(
        CREATE,
        &["--device", "--device-cgroup-rule", "--gpus"],
        Refused("devices of the host cannot be passed to a sandbox, whose machine has its own"),
    ),
    group(
        CREATE,
        &["--dns-opt", "--dns-option", "--dns-search"],
        Refused("names are looked up unchanged; --dns uses another resolver"),
    ),
    group(
        CREATE,
        &["--domainname"],
        Refused("--hostname takes the whole name"),
    ),
    group(CREATE, &["--expose"], Refused("-p PORT publishes a port")),
    group(
        CREATE,
        &[
            "--health-cmd",
            "--health-interval",
            "--health-retries",
            "--health-start-interval",
            "--health-start-period",
            "--health-timeout",
        ],
        Refused("msb does not run health checks; msb exec NAME COMMAND runs one"),
    ),
    group(
        CREATE,
        &[
            "--ip",
            "--ip6",
            "--link-local-ip",
            "--mac-address",
            "--net-alias",
            "--network-alias",
        ],
        Refused("each sandbox has its own network with the same addresses; -p publishes its ports"),
    ),
    group(
        CREATE,
        &["--isolation", "--runtime"],
        Refused("every sandbox is a virtual machine; --vmm chooses between libkrun and QEMU"),
    ),
    group(
        CREATE,
        &["--kernel-memory"],
        Refused("--memory limits the whole guest, including the memory of its kernel"),
    ),
    group(
        CREATE,
        &["--link"],
        Refused(
            "publish a port of the other sandbox with -p 8080:80; --net-allow 127.0.0.1:8080 then \
             reaches it at host.msb.internal",
        ),
    ),
    group(
        CREATE,
        &["--log-driver", "--log-opt"],
        Refused(
            "msb keeps the output of a command in a log of bounded size, which msb logs prints",
        ),
    ),
    group(
        CREATE,
        &["--oom-kill-disable", "--oom-score-adj"],
        Refused("a command can set its own value in /proc/self/oom_score_adj of the guest"),
    ),
    group(CREATE, &["--pod"], Refused("msb has no pods")),
    group(
        CREATE,
        &["--replace"],
        Refused("msb rm -f NAME removes the sandbox that has the name"),
    ),
    group(
        &["run", "attach"],
        &["--sig-proxy"],
        Refused("signals go to the command; msb run -d starts a command that gets none"),
    ),
    group(
        CREATE,
        &["--storage-opt"],
        Refused("--upper-size SIZE is the size of the writable disk"),
    ),
    group(
        CREATE,
        &["--systemd"],
        Refused("leave it out, because an image whose command is systemd runs like any other"),
    ),
    group(
        &["run", "create", "pull"],
        &["--tls-verify"],
        Refused("--tls-ca FILE trusts another authority, and --plain-http uses no TLS"),
    ),
    group(CREATE, &["--tz"], Refused("-e TZ=ZONE sets the time zone")),
    group(
        CREATE,
        &["--volume-driver"],
        Refused("volumes are disks that msb volume create makes"),
    ),
    group(
        CREATE,
        &["--volumes-from"],
        Refused("name the same volumes and directories again with -v"),
    ),
    group(
        &["pull"],
        &["--all-tags", "-a"],
        Refused("name each tag; skopeo list-tags docker://IMAGE lists them"),
    ),
    group(
        &["logs"],
        &["--details"],
        Refused("msb inspect shows a sandbox's environment and labels"),
    ),
    group(
        &["rm"],
        &["--link", "-l"],
        Refused("sandboxes have no links; leave it out to remove the sandbox"),
    ),
    group(
        &["rm"],
        &["--all", "-a"],
        Refused(
            "msb container prune removes all stopped sandboxes, and msb rm -f $(msb ps -aq) all \
             sandboxes",
        ),
    ),
    group(
        &["stop", "kill", "restart"],
        &["--all", "-a"],
        Refused("msb ps -q lists all running sandboxes, as in msb stop $(msb ps -q)"),
    ),
    group(
        &["stats"],
        &["--all", "-a"],
        Refused("a stopped sandbox uses only its disk, which msb ps -as shows"),
    ),
    group(
        &["images", "image ls"],
        &["--tree"],
        Refused("an image in the store has one platform; msb image inspect lists its layers"),
    ),
    group(
        &["update"],
        &[
            "--blkio-weight",
            "--cpu-shares",
            "--cpuset-cpus",
            "--memory-reservation",
            "--memory-swap",
            "--pids-limit",
            "--restart",
        ],
        Refused("msb create sets it; msb update changes --memory, --cpus and --upper-size"),
    ),
    group(
        &["volume create"],
        &["--driver", "--opt", "-d", "-o"],
        Refused("volumes are disks; --size sets the size of one"),
    ),
    group(
        &["volume ls"],
        &["--filter", "-f"],
        Refused("msb volume ls --format json | jq filters by any key"),
    ),
    group(
        &["volume prune"],
        &["--filter"],
        Refused(
            "msb volume rm removes the volumes that it names; msb volume ls --format json | jq finds them",
        ),
    ),
];

/// Returns the answer to a refused option of the command `path`, in one line. `None` if the option is not
/// refused.
#[must_use]
pub fn answer(path: &str, name: &str) -> Option<String> {
    let path = path.strip_prefix("container ").unwrap_or(path);
    let group = ALL
        .iter()
        .find(|group| group.commands.contains(&path) && group.names.contains(&name))?;
    match group.effect {
        Refused(instead) => Some(format!("msb {path} does not support {name}: {instead}")),
        Needless { .. } => None,
    }
}
