use clap::ArgAction;
use clap::builder::NonEmptyStringValueParser;
use msb_runtime::Hostname;

// The guest's settings for its commands, and help: Docker's `-h` is the host name.
#[derive(Debug, clap::Args)]
pub(crate) struct GuestArguments {
    /// Hostname of the guest, also in /etc/hosts and /etc/hostname [default: the sandbox's name]
    #[arg(short = 'h', long, value_name = "NAME")]
    pub(crate) hostname: Option<Hostname>,
    /// Put commands into a group too, by name or number
    #[arg(long, value_name = "GROUP", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) group_add: Vec<String>,
    /// Make the root read-only; volumes, host directories, /tmp, /run and /dev/shm stay writable
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Accepted for docker's sake: msb's agent is the guest's first process in any case, and reaps orphans
    #[arg(long)]
    init: bool,
    /// Print help; -h is the guest's name here, as docker has it
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}
