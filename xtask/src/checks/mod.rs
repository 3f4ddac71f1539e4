//! What a user of `msb run` relies on, checked on a real guest.
//!
//! The same checks run on this machine under QEMU and, inside the KVM lab, under libkrun. Each is a
//! function that fails with what it saw.

mod bed;
mod durability;
mod files;
mod ground;
mod isolation;
mod keeping;
mod lifecycle;
mod network;
mod patches;
mod resources;
mod streams;
mod surroundings;
mod unrunnable;
mod volumes;

pub(crate) use bed::{Bed, describe};

use anyhow::{Result, bail};

/// One thing to check: its name, and how.
type Check = (&'static str, fn(&Bed) -> Result<()>);

/// What one VMM could do otherwise than another.
const OF_MACHINE: &[Check] = &[
    (
        "the guest's mounts are overlay over EROFS and ext4",
        surroundings::mounts,
    ),
    (
        "only what goes with its machine is never synced",
        surroundings::syncing,
    ),
    ("stdout and stderr are apart", streams::apart),
    ("stdin arrives whole and ends", streams::stdin),
    ("output arrives whole", streams::large_output),
    (
        "a stopped sandbox keeps its files",
        durability::stop_and_start,
    ),
    (
        "synced files survive a killed machine",
        durability::kill_and_start,
    ),
    (
        "commands run beside the first one, and all end with a stop",
        lifecycle::exec_and_stop,
    ),
    ("a killed machine is seen by all", lifecycle::kill),
    (
        "a sandbox goes on without who started it",
        keeping::without_its_user,
    ),
    (
        "a sandbox reaches neither the host nor private networks",
        network::denied,
    ),
    (
        "streams and datagrams are whole where a rule allows them",
        network::allowed,
    ),
    ("published ports lead into the sandbox", network::published),
    (
        "names are resolved, and denied ones are not",
        network::names,
    ),
    (
        "without a network there is only the loopback",
        network::none,
    ),
    (
        "host directories are written where they may be, by root too",
        volumes::host_directories,
    ),
    (
        "what the host does in a directory is seen beside it",
        volumes::beside_the_host,
    ),
    (
        "a volume outlives sandboxes and is one writer's at a time",
        volumes::volumes,
    ),
    (
        "the machine's processes are confined and die together",
        isolation::processes,
    ),
    ("what is forbidden is refused from inside", isolation::probe),
    (
        "what a sandbox takes is shown and given back",
        resources::living,
    ),
];

/// What guest and host do with each other over the same channel, whoever runs the guest.
const OF_GUEST: &[Check] = &[
    (
        "everything a container expects is mounted",
        surroundings::container_mounts,
    ),
    (
        "the image's config is followed and overridden",
        surroundings::config,
    ),
    (
        "a guest is named, its commands have groups, and its root is closed",
        surroundings::given,
    ),
    ("exit codes are passed through", surroundings::exit_codes),
    (
        "commands that cannot run give 126 and 127",
        unrunnable::commands,
    ),
    ("without -i stdin is empty", streams::no_stdin),
    ("-t gives a terminal of the right size", streams::terminal),
    ("signals reach the command", streams::signals),
    ("a command whose output nobody reads ends", streams::unread),
    (
        "a command that hears nothing is killed by who insists",
        streams::impatience,
    ),
    (
        "a detached command is followed, waited for and kept",
        lifecycle::detached,
    ),
    (
        "a sandbox is created, renamed, started, attached to, restarted, removed",
        keeping::from_create_to_rm,
    ),
    (
        "jobs outlive who started them, and idleness ends a sandbox",
        keeping::jobs_and_idleness,
    ),
    (
        "a command is started again, and its time is limited",
        keeping::started_again,
    ),
    (
        "trees go in and come back, out of a stopped sandbox too",
        files::there_and_back,
    ),
    (
        "archives go in and out, and files are listed",
        files::archives_and_listings,
    ),
    ("what cannot be copied is said", files::refusals),
    (
        "files come, go and are made before the first boot",
        patches::before_first_boot,
    ),
    ("what cannot be mounted is said", volumes::refusals),
    ("commands are limited as they are told", resources::limits),
    ("a writable disk grows", resources::growth),
    (
        "space that is freed comes back to the host",
        resources::shrinking,
    ),
];

/// Comes after all others.
const LAST: Check = ("nothing is left behind", durability::no_left_overs);

/// Which checks to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    All,
    /// Those of the machine alone, for a second VMM beside one that had all.
    Machine,
}

impl Part {
    fn checks(self) -> Vec<Check> {
        let of_guest = match self {
            Self::All => OF_GUEST,
            Self::Machine => &[],
        };
        [OF_MACHINE, of_guest, &[LAST]].concat()
    }
}

/// Runs the checks whose name has `words`, and prints a line for each.
pub(crate) fn run(bed: &Bed, part: Part, words: &str) -> Result<()> {
    let mut checks = part.checks();
    checks.retain(|(name, _)| name.contains(words));
    let mut failed = 0;
    for (name, check) in &checks {
        match check(bed) {
            Ok(()) => println!("ok      {name}"),
            Err(error) => {
                failed += 1;
                println!("FAILED  {name}: {error:?}");
            }
        }
    }
    let passed = checks.len() - failed;
    println!(
        "checks under {}: {passed} passed, {failed} failed, {} fresh starts",
        bed.vmm(),
        bed.fresh_starts()
    );
    if failed > 0 {
        bail!("{failed} of {} checks failed", checks.len());
    }
    Ok(())
}
