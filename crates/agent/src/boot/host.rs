//! The guest's host name, its networks and its limits of open files and processes.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::system::sethostname;

use super::interface::Interface;
use super::{guest_settings, host_files, network};
use crate::console;

/// The limit of open files for each process, as in Docker.
const OPEN_FILES_MAX: u64 = 1 << 20;

/// Sets the host name, raises the limits of open files and of processes, and brings the networks up. The sandbox is
/// usable without any of them, so failures are reported and do not stop the boot.
pub(super) fn set_up() {
    let open_files = Rlimit {
        current: Some(OPEN_FILES_MAX),
        maximum: Some(OPEN_FILES_MAX),
    };
    // As docker's service. The kernel's default follows from the memory, 911 processes in 256 MiB, and
    // programs such as Elasticsearch refuse to start below 4,096; `--pids-limit` bounds a sandbox.
    let processes = Rlimit {
        current: None,
        maximum: None,
    };
    for (action, resource, limit) in [
        (
            "raise the limit of open files",
            Resource::Nofile,
            open_files,
        ),
        ("raise the limit of processes", Resource::Nproc, processes),
    ] {
        report(action, setrlimit(resource, limit).map_err(Into::into));
    }
    let loopback = Interface::new("lo").and_then(|loopback| loopback.bring_up());
    report("bring the loopback up", loopback);
    if let Some(network) = network::from_host() {
        report("set up the network", network.bring_up());
    }
    name_it();
}

/// Sets the host name, and shows it and the network's names in files of a root that was mounted.
pub(super) fn name_it() {
    let given = guest_settings::current().hostname.as_ref();
    let name = given.map_or_else(guest_settings::sandbox_name, ToString::to_string);
    report(
        "set the host name",
        sethostname(name.as_bytes()).map_err(Into::into),
    );
    let name = host_files::Name {
        name: &name,
        is_given: given.is_some(),
    };
    let network = network::from_host();
    report("name hosts", host_files::mount(&name, network.as_ref()));
}

fn report(action: &str, outcome: io::Result<()>) {
    if let Err(error) = outcome {
        console::log(&format!("cannot {action}: {error}"));
    }
}
