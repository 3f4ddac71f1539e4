//! Values and settings that msb does not accept.

/// A value that Docker accepts for an option and msb does not.
#[derive(Debug, Clone, Copy)]
pub struct MissingValue {
    /// The option's name, with its dashes.
    pub option: &'static str,
    /// The value, or its beginning.
    pub value: &'static str,
    /// True if longer values with this prefix are meant too.
    pub is_prefix: bool,
    /// The alternative, in one line.
    pub instead: &'static str,
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
pub const ALL: &[MissingValue] = &[
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
pub struct MissingSettings {
    /// The option of msb that the setting belongs to, with its dashes.
    pub option: &'static str,
    /// Names of settings: words behind the second colon of `-v`, or keys of `--mount`.
    pub names: &'static [&'static str],
    /// The alternative, in one line.
    pub instead: &'static str,
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
pub const SETTINGS: &[MissingSettings] = &[
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

/// Returns the answer to a value that an option does not accept, in one line. `None` if msb has no answer.
#[must_use]
pub fn answer(option: &str, typed: &str) -> Option<String> {
    let missing = ALL.iter().find(|missing| {
        missing.option == option
            && (missing.value == typed || missing.is_prefix && typed.starts_with(missing.value))
    })?;
    Some(format!(
        "msb does not support {option} {typed}: {}",
        missing.instead
    ))
}

/// Returns the answer to a mount with a setting that msb does not have, in one line. `None` if msb has no
/// answer. `option` is `--volume` or `--mount`.
#[must_use]
pub fn setting_answer(option: &str, typed: &str) -> Option<String> {
    let names: Vec<&str> = match option {
        "--volume" => typed.splitn(3, ':').nth(2)?.split(',').collect(),
        _ => (typed.split(','))
            .filter_map(|pair| pair.split('=').next())
            .collect(),
    };
    let missing = SETTINGS.iter().filter(|missing| missing.option == option);
    let (name, instead) = missing
        .flat_map(|missing| missing.names.iter().map(|name| (*name, missing.instead)))
        .find(|(name, _)| names.contains(name))?;
    Some(format!(
        "msb does not support {name} in {option} {typed}: {instead}"
    ))
}
