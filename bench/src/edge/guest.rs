use anyhow::{Context as _, Result};

use super::proxy::{ENDED, PASSED};
use super::sandboxes::Guest;
use super::upstream::Upstream;
use super::{Arguments, Measured, resolver};
use crate::msb::Msb;
use crate::report::{Cache, Cell, Conditions, Durability, Plot, Row, Table, Target, Unit};

/// The least speed of ended TLS, as a share of that of passed TLS.
const SHARE_MIN: f64 = 0.4;
/// The most time that ending TLS adds to the first byte of a new connection, in seconds.
const FIRST_BYTE_MAX_S: f64 = 0.003;
/// The largest ratio of a transfer in a sandbox without secrets to the same one beside a secret.
const PLAIN_MAX: f64 = 1.05;
/// The most memory of a network process with all connections that it ends, in bytes.
const MEMORY_MAX_BYTES: f64 = 64.0 * 1024.0 * 1024.0;
/// Number of connections whose first bytes make one figure.
const FIRST_BYTES: u64 = 10;
/// Number of connections that are held open. A sandbox may have 1,008; some of those before may still end.
const HELD: u64 = 1_000;
/// The columns: a sandbox without secrets, and the two ways of a sandbox with a secret.
const COLUMNS: [&str; 3] = ["without secrets", "passed on", "ended"];

/// The sandboxes: one with a secret, and one without secrets.
struct Pair<'a> {
    keyed: Guest<'a>,
    plain: Guest<'a>,
}

/// Measures the transfers of guests.
pub(super) fn measure(arguments: &Arguments, msb: &Msb, image: &str) -> Result<Measured> {
    let upstream = Upstream::start(&[ENDED, PASSED])?;
    let resolver = resolver::start()?.to_string();
    let work = tempfile::tempdir()?;
    let authority = work.path().join("authority.pem");
    std::fs::write(&authority, &upstream.authority)?;
    let start = |has_secret| {
        let of_image = (arguments, msb, image);
        let server = (&upstream, resolver.as_str());
        Guest::start(of_image, server, &authority, has_secret)
    };
    let pair = Pair {
        keyed: start(true)?,
        plain: start(false)?,
    };
    let bytes = u64::from(arguments.guest_mib) << 20;
    let transfer = pair.cells(arguments.rounds, "bytes", bytes)?;
    let connections = pair.cells(arguments.rounds, "connections", FIRST_BYTES)?;
    let first_byte = connections.map(|cell| each(cell, FIRST_BYTES));
    let mut targets = judge(&transfer, &first_byte)?;
    let row = |name: String, cells: [Cell; 3]| Row::new(name, cells.map(Some).into());
    let times = vec![
        row(
            format!("{} MiB on one connection", arguments.guest_mib),
            transfer,
        ),
        row("new connection to the first byte".to_owned(), first_byte),
    ];
    let (memory, target) = memory(arguments, &pair.keyed)?;
    targets.push(target);
    let place = "two sandboxes, each with 1 CPU and 512 MiB; the client is Python".to_owned();
    let conditions = |note: String| Conditions {
        cache: Cache::Any,
        durability: Durability::None,
        place: place.clone(),
        notes: vec![note],
    };
    let tables = vec![
        Table {
            title: "TLS from a guest".to_owned(),
            conditions: conditions(format!(
                "{} rounds after one that is not counted, all columns in turn, timed in the guest",
                arguments.rounds
            )),
            unit: Unit::Seconds,
            columns: COLUMNS.map(str::to_owned).to_vec(),
            baseline: Some(1),
            rows: times,
            plot: Plot::Ratios,
        },
        Table {
            title: "Memory of the network process of a sandbox with a secret".to_owned(),
            conditions: conditions(
                "resident memory, with the pages of the program; once each, in this order"
                    .to_owned(),
            ),
            unit: Unit::Bytes,
            columns: vec!["resident".to_owned()],
            baseline: None,
            rows: memory,
            plot: Plot::None,
        },
    ];
    Ok((tables, targets))
}

impl Pair<'_> {
    /// Measures each column in turn.
    fn cells(&self, rounds: usize, what: &str, count: u64) -> Result<[Cell; 3]> {
        let mut cells: [Vec<f64>; 3] = Default::default();
        for round in 0..=rounds {
            let figures = [
                self.plain.time(what, count, false)?,
                self.keyed.time(what, count, false)?,
                self.keyed.time(what, count, true)?,
            ];
            // The first round is not counted.
            if round > 0 {
                for (cell, figure) in cells.iter_mut().zip(figures) {
                    cell.push(figure);
                }
            }
        }
        Ok(cells.map(Cell::from_rounds))
    }
}

/// Returns the figures for one of several equal parts.
fn each(cell: Cell, count: u64) -> Cell {
    let rounds = cell.rounds.into_iter();
    Cell::from_rounds(rounds.map(|seconds| seconds / count as f64).collect())
}

fn judge(transfer: &[Cell; 3], first_byte: &[Cell; 3]) -> Result<Vec<Target>> {
    let [plain, passed, ended] = transfer;
    let share = passed.ratio_to(ended).context("no rounds")?.median;
    let paid = plain.ratio_to(passed).context("no rounds")?.median;
    let median = |cell: &Cell| cell.spread().map(|spread| spread.median);
    let [_, passed, ended] = first_byte;
    let added_s = median(ended).context("no rounds")? - median(passed).context("no rounds")?;
    Ok(vec![
        Target::new(
            share >= SHARE_MIN,
            format!(
                "in a guest, ended TLS has {share:.2} of the speed of passed TLS (at least {SHARE_MIN})"
            ),
        ),
        Target::new(
            added_s <= FIRST_BYTE_MAX_S,
            format!(
                "in a guest, ending TLS adds {} to the first byte (at most {})",
                Unit::Seconds.shown(added_s.max(0.0)),
                Unit::Seconds.shown(FIRST_BYTE_MAX_S)
            ),
        ),
        Target::new(
            paid <= PLAIN_MAX,
            format!(
                "without secrets, a transfer takes {paid:.2} of the time beside a secret (at most {PLAIN_MAX})"
            ),
        ),
    ])
}

/// Measures the network process with few and with many connections.
fn memory(arguments: &Arguments, guest: &Guest<'_>) -> Result<(Vec<Row>, Target)> {
    let row = |name: String, bytes: f64| Row::new(name, vec![Some(Cell::once(bytes))]);
    let idle = guest.network_bytes()?;
    let held = guest.holding(HELD, true, || guest.network_bytes())?;
    let count = u64::try_from(arguments.connections)?;
    guest.time("connections", count, true)?;
    let after = guest.network_bytes()?;
    let most = idle.max(held).max(after);
    let target = Target::new(
        most <= MEMORY_MAX_BYTES,
        format!(
            "the network process takes {} (at most {})",
            Unit::Bytes.shown(most),
            Unit::Bytes.shown(MEMORY_MAX_BYTES)
        ),
    );
    let rows = vec![
        row("before any of these".to_owned(), idle),
        row(format!("{HELD} connections open"), held),
        row(format!("after {count} one after the other"), after),
    ];
    Ok((rows, target))
}
