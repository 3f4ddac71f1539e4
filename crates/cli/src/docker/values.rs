/// A value that Docker accepts for an option and msb does not.
#[derive(Debug, Clone, Copy)]
pub(super) struct MissingValue {
    /// The option's name, with its dashes.
    pub(super) option: &'static str,
    pub(super) value: &'static str,
    /// True if longer values with this prefix are meant too.
    pub(super) is_prefix: bool,
    pub(super) instead: &'static str,
}

const fn missing(
    option: &'static str,
    value: &'static str,
    is_prefix: bool,
    instead: &'static str,
) -> MissingValue {
    MissingValue {
        option,
        value,
        is_prefix,
        instead,
    }
}

const BRIDGE: &str = "leave it out: --network outbound, the default, reaches outside as a bridge \
    does, and -p publishes ports";

const NO_TEMPLATE: &str = "this command does not support templates; --format json prints every key";

/// Values that msb has an alternative to.
pub(super) const ALL: &[MissingValue] = &[
    missing(
        "--network",
        "host",
        false,
        "a sandbox has its own network; -p publishes its ports, and --net-allow 127.0.0.1:PORT \
         reaches a port of the host at host.msb.internal",
    ),
    missing("--network", "bridge", false, BRIDGE),
    missing("--network", "default", false, BRIDGE),
    missing("--network", "slirp4netns", true, BRIDGE),
    missing("--network", "pasta", true, BRIDGE),
    missing(
        "--network",
        "container:",
        true,
        "sandboxes do not share a network; they reach each other's published ports with --net-allow",
    ),
    missing(
        "--pid",
        "container:",
        true,
        "sandboxes share no namespace; msb exec NAME runs a command among the processes of a sandbox",
    ),
    missing("--format", "{{", true, NO_TEMPLATE),
    missing("--format", "table {{", true, NO_TEMPLATE),
];

/// Settings of a mount that Docker or Podman has and msb does not.
#[derive(Debug, Clone, Copy)]
pub(super) struct MissingSettings {
    /// The option of msb that the setting belongs to, with its dashes.
    pub(super) option: &'static str,
    /// Names of settings: words behind the second colon of `-v`, or keys of `--mount`.
    pub(super) names: &'static [&'static str],
    pub(super) instead: &'static str,
}

const fn settings(
    option: &'static str,
    names: &'static [&'static str],
    instead: &'static str,
) -> MissingSettings {
    MissingSettings {
        option,
        names,
        instead,
    }
}

const NO_LABELS: &str = "msb does not support SELinux labels; leave it out";
const NO_PROPAGATION: &str = "mounts do not propagate between the host and a sandbox; leave it out";
const NO_CONSISTENCY: &str = "it is a setting of Docker Desktop's file sharing; leave it out";
const NO_COPY: &str =
    "a new volume is filled with the image's files at its path; mount it where the image has none";

/// Settings of mounts that msb has an alternative to.
pub(super) const SETTINGS: &[MissingSettings] = &[
    settings("--volume", &["nocopy"], NO_COPY),
    settings(
        "--volume",
        &[
            "shared", "rshared", "slave", "rslave", "private", "rprivate",
        ],
        NO_PROPAGATION,
    ),
    settings(
        "--volume",
        &["cached", "delegated", "consistent"],
        NO_CONSISTENCY,
    ),
    settings(
        "--volume",
        &["U"],
        "msb does not change the owners of the host's files; run chown on this host",
    ),
    settings(
        "--volume",
        &["O"],
        "--copy SOURCE:PATH gives the sandbox its own copy",
    ),
    settings("--mount", &["relabel"], NO_LABELS),
    settings("--mount", &["volume-nocopy"], NO_COPY),
    settings("--mount", &["bind-propagation"], NO_PROPAGATION),
    settings("--mount", &["consistency"], NO_CONSISTENCY),
    settings(
        "--mount",
        &["volume-driver", "volume-opt", "volume-label"],
        "volumes are disks; msb volume create sets the size and labels of one",
    ),
];
