//! TLS that is ended for the hosts of secrets, beside TLS that is passed on: speed, first byte, many connections.

mod client;
mod proxy;
mod upstream;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::msb::Msb;
use crate::report::{Cache, Cell, Conditions, Durability, Machine, Plot, Report, Row, Showing};
use crate::report::{Table, Target, Unit};
use crate::timing;
use client::Client;
use proxy::Proxy;

/// The least speed of ended TLS, as a share of that of passed TLS.
const SHARE_MIN: f64 = 0.4;
/// The least speed of the proxy alone on one core, in MB/s.
const SPEED_MIN_MB_S: f64 = 300.0;
/// The most time that ending TLS adds to the first byte of a new connection, in seconds.
const FIRST_BYTE_MAX_S: f64 = 0.003;
/// Number of connections whose first bytes make one figure.
const FIRST_BYTES: u32 = 20;
/// Number of clients that open connections at once.
const CLIENTS: usize = 16;
/// The columns.
const COLUMNS: [&str; 2] = ["passed on", "ended"];

/// Arguments of `msb bench edge`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "No guest runs: clients and a server of this program are joined by the part of a sandbox's network \
    that ends TLS, over the loopback interface.\n\n\
    Examples:\n  \
    msb bench edge\n  \
    msb bench edge --mib 16 --rounds 3"
)]
pub(crate) struct Arguments {
    /// Length of the answer whose speed is measured, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    mib: u32,
    /// Number of counted rounds
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Number of connections of a round of many
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    connections: usize,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

pub(crate) fn run(arguments: &Arguments, _: &Msb) -> Result<Report> {
    let proxy = Proxy::start()?;
    let (speed, mut targets) = speed(arguments, &proxy)?;
    let (first_byte, target) = first_byte(arguments, &proxy)?;
    targets.push(target);
    let many = many(arguments, &proxy)?;
    let table = Table {
        title: "TLS through a sandbox's network process, without a guest".to_owned(),
        conditions: Conditions {
            cache: Cache::Any,
            durability: Durability::None,
            place: "one process, over loopback; the proxy has one thread".to_owned(),
            notes: vec![
                format!(
                    "{} rounds after one that is not counted, both columns in turn",
                    arguments.rounds
                ),
                "HTTP/1.1; requests that are ended carry a secret, and their answers are searched"
                    .to_owned(),
            ],
        },
        unit: Unit::Seconds,
        columns: COLUMNS.map(str::to_owned).to_vec(),
        baseline: Some(0),
        rows: vec![speed, first_byte, many],
        plot: Plot::Ratios,
    };
    let machine = Machine::this(None);
    Ok(Report::new("edge", machine, vec![table], targets))
}

/// Measures an answer of many bytes on one connection of each kind.
fn speed(arguments: &Arguments, proxy: &Proxy) -> Result<(Row, Vec<Target>)> {
    let bytes = u64::from(arguments.mib) << 20;
    let mut passed = Client::connect(proxy, false)?;
    let mut ended = Client::connect(proxy, true)?;
    let mut cpu_s = Vec::new();
    let pairs = timing::alternate(
        arguments.rounds,
        || passed.get(bytes),
        || {
            let before = proxy.cpu_s()?;
            ended.get(bytes)?;
            cpu_s.push(proxy.cpu_s()? - before);
            Ok(())
        },
    )?;
    // The first round is not counted.
    let cpu_s = Cell::from_rounds(cpu_s.split_off(1));
    let ratio = pairs.a.ratio_to(&pairs.b).context("no rounds")?.median;
    let busy_s = cpu_s.spread().context("no rounds")?.median;
    let speed_mb_s = bytes as f64 / 1e6 / busy_s.max(1e-9);
    let targets = vec![
        Target::new(
            ratio >= SHARE_MIN,
            format!("ended TLS has {ratio:.2} of the speed of passed TLS (at least {SHARE_MIN})"),
        ),
        Target::new(
            speed_mb_s >= SPEED_MIN_MB_S,
            format!(
                "the proxy alone ends {speed_mb_s:.0} MB/s on one core (at least {SPEED_MIN_MB_S:.0})"
            ),
        ),
    ];
    let name = format!("{} MiB on one connection", arguments.mib);
    Ok((Row::new(name, vec![Some(pairs.a), Some(pairs.b)]), targets))
}

/// Measures new connections up to the first byte of an answer.
fn first_byte(arguments: &Arguments, proxy: &Proxy) -> Result<(Row, Target)> {
    let several = |is_ended| -> Result<()> {
        for _ in 0..FIRST_BYTES {
            Client::connect(proxy, is_ended)?.get(1)?;
        }
        Ok(())
    };
    let pairs = timing::alternate(arguments.rounds, || several(false), || several(true))?;
    let each = |cell: Cell| {
        let rounds = cell.rounds.into_iter();
        Cell::from_rounds(
            rounds
                .map(|seconds| seconds / f64::from(FIRST_BYTES))
                .collect(),
        )
    };
    let (passed, ended) = (each(pairs.a), each(pairs.b));
    let median = |cell: &Cell| cell.spread().map(|spread| spread.median);
    let added_s = median(&ended).context("no rounds")? - median(&passed).context("no rounds")?;
    let target = Target::new(
        added_s <= FIRST_BYTE_MAX_S,
        format!(
            "ending TLS adds {} to the first byte (at most {})",
            Unit::Seconds.shown(added_s.max(0.0)),
            Unit::Seconds.shown(FIRST_BYTE_MAX_S)
        ),
    );
    let row = Row::new(
        "new connection to the first byte",
        vec![Some(passed), Some(ended)],
    );
    Ok((row, target))
}

/// Measures many connections, some of them at once, all of which have to be answered.
fn many(arguments: &Arguments, proxy: &Proxy) -> Result<Row> {
    let pairs = timing::alternate(
        arguments.rounds.min(3),
        || crowd(proxy, arguments.connections, false),
        || crowd(proxy, arguments.connections, true),
    )?;
    let name = format!("{} connections, {CLIENTS} at once", arguments.connections);
    Ok(Row::new(name, vec![Some(pairs.a), Some(pairs.b)]))
}

fn crowd(proxy: &Proxy, count: usize, is_ended: bool) -> Result<()> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let mut answered = 0;
                    while next.fetch_add(1, Ordering::Relaxed) < count {
                        Client::connect(proxy, is_ended)?.get(1)?;
                        answered += 1;
                    }
                    anyhow::Ok(answered)
                })
            })
            .collect();
        let mut answered = 0;
        for client in clients {
            let count = client.join().ok().context("a client has panicked")?;
            answered += count?;
        }
        ensure!(
            answered == count,
            "{answered} of {count} connections were answered"
        );
        Ok(())
    })
}

/// The time that one read or write may take.
const TIMEOUT: Duration = Duration::from_secs(60);
