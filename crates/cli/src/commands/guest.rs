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
    /// Put commands into a group too, by name or number
    #[arg(long, value_name = "GROUP", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) group_add: Vec<String>,
    /// Make the root read-only
    ///
    /// Volumes, host directories, /tmp, /run and /dev/shm stay writable.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Accepted for docker's sake: the guest has an init in any case
    ///
    /// It is msb's agent, which reaps orphans.
    #[arg(long)]
    init: bool,
    /// Print a line for each option; -h is the hostname, as in docker
    #[arg(long, action = ArgAction::HelpShort)]
    help: Option<bool>,
}
