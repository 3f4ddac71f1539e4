//! The time from a typed command to the first byte from a sandbox, in one run and stage by stage. A
//! peer product, and guest kernels, can be measured for comparison.

mod account;
mod kernels;
mod life;
mod peer;
mod starts;

use std::path::PathBuf;

use anyhow::Result;

use account::Accounts;
use kernels::Kernels;
use life::Lives;
use peer::{Peer, PeerRounds};
use starts::Starts;

use crate::msb::{Msb, vmm_words};
use crate::report::{Cache, Conditions, Durability, Machine, Report, Showing};

/// The processors and the memory of every sandbox of this benchmark, of msb and of a peer.
const CPUS: &str = "1";
const MEMORY: &str = "256m";
/// The command that prints the first byte.
const COMMAND: [&str; 2] = ["echo", "here"];

/// Arguments of `msb bench boot`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The account has a column a stage: the time from the mark before, as MSB_TIMELINE notes them \
    (docs/timeline.md).\n\n\
    A peer is microsandbox, whose program is also called msb. It keeps what it writes in a directory of its \
    own, which goes afterwards.\n\n\
    Examples:\n  \
    msb bench boot debian --peer /opt/microsandbox/bin/msb --peer-archive debian.tar --html boot.html\n  \
    msb bench boot debian --kernel vmlinux --kernel libkrunfw.so.5"
)]
pub(crate) struct Arguments {
    /// An image with `echo`, and with `sh` for `--kernel`
    image: String,
    /// The VMM: krun, qemu, or auto for one that this host can run
    #[arg(long, default_value = "auto", env = "MSB_VMM")]
    vmm: String,
    /// Number of counted rounds
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// The program of a peer to compare with
    #[arg(long, value_name = "PROGRAM", requires = "peer_archive")]
    peer: Option<PathBuf>,
    /// The same image as an archive for the peer to load
    #[arg(long, value_name = "FILE", requires = "peer")]
    peer_archive: Option<PathBuf>,
    /// A guest kernel to measure; the others are compared with the first
    #[arg(long = "kernel", value_name = "FILE")]
    kernels: Vec<PathBuf>,
    /// Time limit for a start, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    start_limit: u64,
    /// Number of starts that may be lost and repeated, as nested emulation needs
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    retries: u32,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let peer = match (&arguments.peer, &arguments.peer_archive) {
        (Some(program), Some(archive)) => Some(Peer::load(program, archive)?),
        _ => None,
    };
    let mut starts = Starts::new(arguments.start_limit, arguments.retries);
    let (mut accounts, mut lives) = (Accounts::default(), Lives::default());
    let mut of_peer = PeerRounds::default();
    let mut kernels = Kernels::new(arguments, msb, &mut starts)?;
    // What is measured beside the kernels boots the first of them.
    let first = kernels.first();
    let msb = &first.map_or_else(|| msb.clone(), |kernel| msb.with_kernel(kernel));
    for round in 0..=arguments.rounds {
        let account = account::once(arguments, msb, &mut starts)?;
        let life = life::once(arguments, msb, &mut starts)?;
        kernels.round(arguments, msb, &mut starts, round > 0)?;
        let peers = peer.as_ref().map(|peer| peer.round(&mut starts));
        if round > 0 {
            accounts.add(account);
            lives.add(life);
        }
        match peers.transpose()? {
            Some(peers) if round > 0 => of_peer.add(peers),
            _ => {}
        }
    }
    let notes = notes(arguments, &starts);
    let conditions = |more: &[&str]| Conditions {
        cache: Cache::Warm,
        durability: Durability::None,
        place: format!("{}, {CPUS} CPU, {MEMORY}", arguments.image),
        notes: notes.iter().cloned().chain(words(more)).collect(),
    };
    let mut tables = vec![
        accounts.whole_table(conditions(&[])),
        accounts.table(conditions(account::NOTES)),
        lives.table(conditions(&life::NOTES)),
    ];
    let mut targets = vec![lives.target()];
    if let Some(peer) = &peer {
        let (table, judged) = of_peer.beside(&accounts, &lives, conditions(&[&peer.words()]));
        tables.push(table);
        targets.extend(judged);
    }
    if !arguments.kernels.is_empty() {
        tables.extend(kernels.tables(&conditions));
        targets.extend(kernels.targets());
    }
    let machine = Machine::this(Some(vmm_words(&arguments.vmm).to_owned()));
    let name = match (&peer, arguments.kernels.is_empty()) {
        (Some(_), _) => "boot --peer",
        (None, false) => "boot --kernel",
        (None, true) => "boot",
    };
    Ok(Report::new(name, machine, tables, targets))
}

fn notes(arguments: &Arguments, starts: &Starts) -> Vec<String> {
    let mut notes = vec![format!("{} rounds after one warm-up", arguments.rounds)];
    if starts.lost() > 0 {
        notes.push(format!(
            "{} starts ended before their first byte and were repeated",
            starts.lost()
        ));
    }
    notes
}

fn words(notes: &[&str]) -> impl Iterator<Item = String> {
    notes.iter().map(|&note| note.to_owned())
}
