use clap::ArgAction;
use clap::builder::NonEmptyStringValueParser;
use msb_runtime::Hostname;

// The guest's settings for its commands, and help: Docker's `-h` is the host name.
#[derive(Debug, clap::Args)]
pub(crate) struct GuestArguments {
    /// Hostname of the guest [default: the sandbox's name]
    ///
    /// It is also in /etc/hosts and /etc/hostname.
    #[arg(short = 'h', long, value_name = "NAME")]
    pub(crate) hostname: Option<Hostname>,
    /// Additional group of the commands, by name or number
    #[arg(long, value_name = "GROUP", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) group_add: Vec<String>,
    /// Make the root read-only
    ///
    /// Volumes, host directories, --tmpfs and /dev/shm stay writable.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Run an init as process 1, which starts the command
    ///
    /// It forwards signals to the command, reaps orphans, and exits with the command's status.
    /// Without it the command itself is process 1, to which the kernel delivers only signals that
    /// have a handler.
    #[arg(long)]
    pub(crate) init: bool,
    /// PID namespace: private, or host for the machine's
    ///
    /// In the machine's namespace, msb's agent is process 1, and commands see each other and the
    /// kernel's threads.
    #[arg(
        long,
        value_name = "NAMESPACE",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub(crate) pid: PidNamespace,
    /// Print a line for each option; -h is the hostname, as in docker
    #[arg(long, action = ArgAction::HelpShort)]
    help: Option<bool>,
}

/// The namespace of process IDs that commands see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PidNamespace {
    /// The sandbox's own
    #[default]
    Private,
    /// The machine's namespace
    Host,
}

impl From<PidNamespace> for msb_sdk::PidNamespace {
    fn from(namespace: PidNamespace) -> Self {
        match namespace {
            PidNamespace::Private => Self::Private,
            PidNamespace::Host => Self::Host,
        }
    }
}
