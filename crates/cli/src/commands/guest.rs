use clap::ArgAction;
use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser,
};
use msb_sdk::{GuestSettings, Hostname, PidNamespace, SocketForward};

// The guest's settings for its commands, and help: Docker's `-h` is the host name.
#[derive(Debug, clap::Args)]
pub(crate) struct GuestArguments {
    /// Hostname of the guest [default: the sandbox's name]
    ///
    /// It is also in /etc/hosts and /etc/hostname.
    #[arg(short = 'h', long, value_name = "NAME")]
    hostname: Option<Hostname>,
    /// Additional group of the commands, by name or number
    #[arg(long, value_name = "GROUP", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) group_add: Vec<String>,
    /// Make the root read-only
    ///
    /// Volumes, host directories, --tmpfs and /dev/shm stay writable.
    #[arg(long)]
    read_only: bool,
    /// Run an init as process 1, which starts the command
    ///
    /// It forwards signals to the command, reaps orphans, and exits with the command's status.
    /// Without it the command itself is process 1, to which the kernel delivers only signals that
    /// have a handler.
    #[arg(long)]
    init: bool,
    /// PID namespace: private, or host for the machine's
    ///
    /// In the machine's namespace, msb's agent is process 1, and commands see each other and the
    /// kernel's threads.
    #[arg(
        long,
        value_name = "NAMESPACE",
        value_parser = pid_namespace(),
        default_value_t,
        hide_possible_values = true
    )]
    pid: PidNamespace,
    /// Unix socket of the host that programs can connect to
    ///
    /// The value is HOST_PATH:GUEST_PATH[:OPTIONS]. Both paths are absolute. Whoever reaches the socket can do what its server does for its clients. Sockets of
    /// container engines, and those of root, are refused. OPTIONS are mode=MODE [default: 666] and owner=USER[.GROUP]
    /// of the socket in the guest, separated by commas.
    #[arg(long = "socket", value_name = "HOST:GUEST")]
    sockets: Vec<SocketForward>,
    /// Let programs list the keys of the SSH agent, and sign
    ///
    /// The agent is that of SSH_AUTH_SOCK when the sandbox starts. All other requests are refused. Each signature is
    /// in the log: msb logs --source machine.
    #[arg(long)]
    forward_agent: bool,
    /// Print a line for each option; -h is the hostname, as in docker
    #[arg(long, action = ArgAction::HelpShort)]
    help: Option<bool>,
}

impl GuestArguments {
    /// Puts the settings into those of a guest.
    pub(crate) fn set(&self, guest: &mut GuestSettings) {
        guest.hostname.clone_from(&self.hostname);
        guest.read_only = self.read_only;
        guest.init = self.init;
        guest.pid = self.pid;
        guest.sockets.clone_from(&self.sockets);
        guest.forward_agent = self.forward_agent;
    }
}

/// Returns the parser of a namespace, with the names for completions.
fn pid_namespace() -> impl TypedValueParser<Value = PidNamespace> {
    let names = PidNamespace::ALL.map(|namespace| {
        PossibleValue::new(namespace.as_str()).help(match namespace {
            PidNamespace::Private => "The sandbox's own",
            PidNamespace::Host => "The machine's namespace",
        })
    });
    PossibleValuesParser::new(names).try_map(|name| name.parse::<PidNamespace>())
}
