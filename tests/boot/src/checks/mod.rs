//! The behaviour that a user of `msb run` relies on, checked on a real guest.
//!
//! The same checks run on this machine under QEMU and, inside the KVM lab, under libkrun. Each is a
//! function that fails with its finding, and each has to clean up after itself.

mod asks;
mod asks_at_run;
mod changes;
mod clock;
mod containers;
mod control_groups;
mod damages;
mod disks;
mod durability;
mod ended;
mod files;
mod frozen;
mod host_authorities;
mod host_directory;
mod image_damage;
mod isolation;
mod keeping;
mod kernel_settings;
mod kernels;
mod lifecycle;
mod listener;
mod live_snapshots;
mod mcp;
mod merging;
mod mounts;
mod native_root;
pub(crate) mod network;
mod network_log;
mod network_rules;
mod owners;
mod packed_image;
mod patches;
mod pause;
mod ports;
mod process_1;
mod resources;
mod rollback;
mod root_disk;
mod run_and_tmp;
mod secrets;
mod secrets_canary;
mod secrets_kept;
mod secrets_scene;
mod share_asks;
mod share_rules;
mod silence;
mod snapshots;
mod sockets;
mod sockets_scene;
mod ssh;
mod ssh_sockets;
mod staged;
mod staged_git;
mod stream_owners;
mod streams;
mod surroundings;
mod terminal;
mod undo;
mod unrunnable;
mod upstream_proxy;
mod volumes;

use anyhow::Result;
use test_support::TestEnv;
use test_support::harness::Trial;

use crate::trial::{boot, boot_in};

/// A check: its name and its function.
type Check = (&'static str, fn(&TestEnv) -> Result<()>);

/// Checks that may have another result with another VMM.
const OF_MACHINE: &[Check] = &[
    (
        "the guest's mounts are overlay over EROFS and ext4",
        surroundings::mounts,
    ),
    (
        "only what goes with its machine is never synced",
        surroundings::syncing,
    ),
    ("the kernel's options work in a sandbox", kernels::options),
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
        "a sandbox ends with its last owner, also a killed one",
        owners::killed,
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
        "what goes out is in a log that the guest cannot forge",
        network_log::recorded,
    ),
    (
        "connections go through the proxy of the user",
        upstream_proxy::used,
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
        "rules of a host directory hold for root in the guest",
        share_rules::hold,
    ),
    (
        "a shared file is asked for while the share goes on",
        share_asks::answered,
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
        "a dozen mounts are a sandbox's, or are refused before anything is made",
        mounts::dozen,
    ),
    (
        "a file of the host is mounted alone, or is refused",
        mounts::files,
    ),
    (
        "several staged directories are one disk, beside a volume and the network",
        mounts::staged,
    ),
    (
        "a full disk of the host is an error of the guest's own write",
        disks::full,
    ),
    (
        "a disk of the host that breaks leaves all that was synced",
        disks::broken,
    ),
    (
        "a byte of the image that changes is an error of its reads, and is never seen",
        image_damage::never_seen,
    ),
    (
        "a packed image has the same files as the plain one",
        packed_image::same_files,
    ),
    (
        "a rollback brings back what several programs wrote",
        snapshots::rolled_back,
    ),
    (
        "the machine's processes are confined and die together",
        isolation::processes,
    ),
    ("what is forbidden is refused from inside", isolation::probe),
    (
        "the processes of a paused sandbox stand still",
        pause::stands_still,
    ),
    (
        "what a sandbox takes is shown and given back",
        resources::living,
    ),
];

/// Checks of guest and host over the same channel, which is the same for every VMM.
const OF_GUEST: &[Check] = &[
    (
        "everything a container expects is mounted",
        surroundings::container_mounts,
    ),
    ("libkrunfw's kernel runs commands, too", kernels::libkrunfw),
    (
        "access lists are set on the root and on volumes",
        kernels::access_lists,
    ),
    (
        "the image's config is followed and overridden",
        surroundings::config,
    ),
    (
        "a guest is named, its commands have groups, and its root is closed",
        surroundings::given,
    ),
    (
        "a command's streams belong to its user",
        stream_owners::streams,
    ),
    (
        "the image's files in /run and /tmp are there, and stay",
        run_and_tmp::kept,
    ),
    (
        "the kernel has the settings of a host of docker, and those asked for",
        kernel_settings::settings,
    ),
    ("the guest's clock follows the host's", clock::followed),
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
        "a sandbox is ended from outside while its run waits for it",
        ended::with_its_run_attached,
    ),
    (
        "a kill reaches all that a command started, and no group is left",
        control_groups::killed,
    ),
    (
        "containers are made from plans, run, and leave nothing",
        containers::lives,
    ),
    (
        "the main command is process 1, and commands join it",
        process_1::main_command,
    ),
    (
        "process 1 is an init, a holder or the machine's own where that is asked for",
        process_1::others,
    ),
    (
        "a guest whose agent is silent is given up and ended in time",
        silence::given_up,
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
        "msb diff lists what a guest changed, and nothing else",
        changes::listed,
    ),
    (
        "files come, go and are made before the first boot",
        patches::before_first_boot,
    ),
    (
        "a guest trusts the authorities that its host trusts",
        host_authorities::trusted,
    ),
    (
        "secrets are used, and neither the guest nor a file of the host has them",
        secrets::used,
    ),
    (
        "rules of the network change while a sandbox runs, and stay",
        network_rules::changed,
    ),
    (
        "a guest asks for denied destinations, and gets those that are allowed",
        network_rules::asked,
    ),
    (
        "values of secrets change while connections are open, and outlive no start",
        secrets_kept::changed,
    ),
    (
        "single requests are allowed, and a sandbox without rules for them has no authority",
        secrets_kept::requests,
    ),
    (
        "sockets of the host are forwarded, an SSH agent only lists and signs, and a flood is bounded",
        sockets::forwarded,
    ),
    (
        "ports that the host chooses are printed, and lead into the sandbox",
        ports::chosen_by_the_host,
    ),
    ("what cannot be mounted is said", volumes::refusals),
    (
        "a quota of the host is an error of the guest's own write",
        disks::quota,
    ),
    ("commands are limited as they are told", resources::limits),
    ("a writable disk grows", resources::growth),
    (
        "space that is freed comes back to the host",
        resources::shrinking,
    ),
    (
        "OpenSSH's own programs use a sandbox without a server in the image",
        ssh::served,
    ),
];

/// Checks of the disk below the guest: snapshots, rollbacks, and roots other than an overlay.
const OF_DISK: &[Check] = &[
    (
        "a running sandbox is compared, applied and committed at one moment",
        frozen::read,
    ),
    (
        "a frozen guest is thawed, whatever becomes of its client",
        frozen::thawed,
    ),
    (
        "snapshots of a running sandbox have all that was synced",
        live_snapshots::whole,
    ),
    (
        "generations of a running sandbox are merged, in the background too",
        merging::of_running,
    ),
    (
        "a running sandbox is rolled back while its machine stays up",
        rollback::of_running,
    ),
    ("commands of a running sandbox are undone", undo::of_running),
    (
        "a model's client has its own sandboxes, and changes the host with a yes",
        mcp::served,
    ),
    (
        "a disk image is a sandbox's root, and is never written",
        root_disk::booted,
    ),
    (
        "a staged directory is the host's, and its changes come home once they are applied",
        staged::applied,
    ),
    (
        "each hidden damage is seen and discarded",
        damages::seen_and_discarded,
    ),
    (
        "a guest asks for hidden files, and gets those that are allowed",
        asks::answered,
    ),
    (
        "a guest is answered at the terminal of its run",
        asks_at_run::answered,
    ),
    (
        "a native root has the image's files, and one changed byte takes few blocks",
        native_root::booted,
    ),
    (
        "a native root has staged directories",
        native_root::has_staged_directories,
    ),
];

/// Returns the checks as tests.
///
/// A second VMM has to pass `checks::machine::boot_…` and `checks::disk::boot_…`, beside one that passed all
/// checks; the others are `checks::guest::boot_…`, and `checks::git::boot_…` with an image that has git.
pub(crate) fn tests() -> Vec<Trial> {
    let group = |name, checks: &[Check]| {
        let tests = checks
            .iter()
            .map(|(title, check)| boot(name, title, *check));
        tests.collect::<Vec<_>>()
    };
    let mut tests = group("checks::machine", OF_MACHINE);
    tests.extend(group("checks::guest", OF_GUEST));
    tests.extend(group("checks::disk", OF_DISK));
    tests.push(boot_in(
        TestEnv::with_bench_guests,
        "checks::git",
        "commits of a staged repository come home by git, and its index is not rewritten",
        staged_git::comes_home,
    ));
    tests
}
