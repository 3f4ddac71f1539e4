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
    missing("--format", "{{", true, NO_TEMPLATE),
    missing("--format", "table {{", true, NO_TEMPLATE),
];
