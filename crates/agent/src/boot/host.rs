//! What makes the guest a host: its name, its networks, its limits.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::system::sethostname;

use super::interface::Interface;
use super::{host_files, network};
use crate::console;

/// The word on the kernel's command line that names the sandbox.
const HOSTNAME_VARIABLE: &str = "msb_hostname";
/// Set where that is not the sandbox's own name, but one that the user gave.
const HOSTNAME_GIVEN_VARIABLE: &str = "msb_hostname_given";
const DEFAULT_HOSTNAME: &str = "msb";
/// As many open files as docker allows.
const OPEN_FILES_MAX: u64 = 1 << 20;

/// Names the guest, raises limits, brings its networks up. A sandbox that lacks one of them is
/// still a sandbox, so failures are said and passed over.
pub(super) fn set_up() {
    let name = std::env::var(HOSTNAME_VARIABLE).unwrap_or_else(|_| DEFAULT_HOSTNAME.to_owned());
    tell(
        "set the host name",
        sethostname(name.as_bytes()).map_err(Into::into),
    );
    let limit = Rlimit {
        current: Some(OPEN_FILES_MAX),
        maximum: Some(OPEN_FILES_MAX),
    };
    tell(
        "raise the limit of open files",
        setrlimit(Resource::Nofile, limit).map_err(Into::into),
    );
    let loopback = Interface::new("lo").and_then(|loopback| loopback.bring_up());
    tell("bring the loopback up", loopback);
    let network = network::from_host();
    if let Some(network) = &network {
        tell("set up the network", network.bring_up());
    }
    let name = host_files::Name {
        name: &name,
        is_given: std::env::var_os(HOSTNAME_GIVEN_VARIABLE).is_some(),
    };
    tell("name hosts", host_files::mount(&name, network.as_ref()));
}

fn tell(action: &str, outcome: io::Result<()>) {
    if let Err(error) = outcome {
        console::say(&format!("cannot {action}: {error}"));
    }
}
