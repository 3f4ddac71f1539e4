use anyhow::{Context as _, Result};

use super::client::Client;
use super::http2::{self, Http2Client};
use super::proxy::{ENDED, PASSED, Proxy};
use super::upstream::Upstream;
use super::{Arguments, Measured, crowd};
use crate::report::{Cache, Cell, Conditions, Durability, Plot, Row, Table, Target, Unit};
use crate::timing;

/// The least speed of ended TLS, as a share of that of passed TLS.
const SHARE_MIN: f64 = 0.4;
/// The least speed of the proxy alone on one core, in MB/s.
const SPEED_MIN_MB_S: f64 = 300.0;
/// The most time that ending TLS adds to the first byte of a new connection, in seconds.
const FIRST_BYTE_MAX_S: f64 = 0.003;
/// Number of connections whose first bytes make one figure.
const FIRST_BYTES: u32 = 20;
/// The columns of the table of speed.
const COLUMNS: [&str; 2] = ["passed on", "ended"];

/// The times of one transfer, passed on and ended.
struct Speed {
    name: String,
    wall: timing::Pairs,
    /// Processor time of the proxy.
    busy: timing::Pairs,
    bytes: u64,
}

/// Measures without a guest.
pub(super) fn measure(arguments: &Arguments) -> Result<Measured> {
    let proxy = Proxy::start(&Upstream::start(&[ENDED, PASSED])?)?;
    let proxy2 = Proxy::start(&http2::start(&[ENDED, PASSED])?)?;
    let bytes = u64::from(arguments.mib) << 20;
    let (mut passed1, mut ended1) = (
        Client::connect(&proxy, false)?,
        Client::connect(&proxy, true)?,
    );
    let (mut passed2, mut ended2) = (
        Http2Client::connect(&proxy2, false)?,
        Http2Client::connect(&proxy2, true)?,
    );
    let mut get1 = |is_ended| {
        let client = if is_ended { &mut ended1 } else { &mut passed1 };
        client.get(bytes)
    };
    let mut get2 = |is_ended| {
        let client = if is_ended { &mut ended2 } else { &mut passed2 };
        client.get(bytes)
    };
    let speeds = [
        speed(arguments, "HTTP/1.1", &proxy, &mut get1)?,
        speed(arguments, "HTTP/2", &proxy2, &mut get2)?,
    ];
    let mut targets = Vec::new();
    for speed in &speeds {
        targets.extend(speed.judge()?);
    }
    let (first_byte, target) = first_byte(arguments, &proxy)?;
    targets.push(target);
    let many = crowd::many(arguments, &proxy)?;
    let open = crowd::open(arguments, &proxy)?;
    let (mut wall, mut busy) = (Vec::new(), Vec::new());
    for speed in speeds {
        let row =
            |pairs: timing::Pairs| Row::new(speed.name.clone(), vec![Some(pairs.a), Some(pairs.b)]);
        wall.push(row(speed.wall));
        busy.push(row(speed.busy));
    }
    wall.extend([first_byte, many, open]);
    let tables = vec![
        table(
            arguments,
            "TLS through a sandbox's network process, without a guest",
            wall,
        ),
        table(arguments, "Processor time of the proxy's thread", busy),
    ];
    Ok((tables, targets))
}

fn table(arguments: &Arguments, title: &str, rows: Vec<Row>) -> Table {
    Table {
        title: title.to_owned(),
        conditions: Conditions {
            cache: Cache::Any,
            durability: Durability::None,
            place: "one process, over loopback; the proxy has one thread".to_owned(),
            notes: vec![
                format!(
                    "{} rounds after one that is not counted, both columns in turn",
                    arguments.rounds
                ),
                "what is passed on is copied raw; requests that are ended carry a secret, and their answers are \
                 searched"
                    .to_owned(),
            ],
        },
        unit: Unit::Seconds,
        columns: COLUMNS.map(str::to_owned).to_vec(),
        baseline: Some(0),
        rows,
        plot: Plot::Ratios,
    }
}

/// Measures an answer of many bytes on one connection of each kind.
fn speed(
    arguments: &Arguments,
    protocol: &str,
    proxy: &Proxy,
    get: &mut dyn FnMut(bool) -> Result<()>,
) -> Result<Speed> {
    let (mut passed, mut ended) = (Vec::new(), Vec::new());
    let (mut busy_passed, mut busy_ended) = (Vec::new(), Vec::new());
    for round in 0..=arguments.rounds {
        for (is_ended, walls, busies) in [
            (false, &mut passed, &mut busy_passed),
            (true, &mut ended, &mut busy_ended),
        ] {
            let before = proxy.cpu_s()?;
            let begun = std::time::Instant::now();
            get(is_ended)?;
            // The first round is not counted.
            if round > 0 {
                walls.push(begun.elapsed().as_secs_f64());
                busies.push(proxy.cpu_s()? - before);
            }
        }
    }
    let pairs = |a, b| timing::Pairs {
        a: Cell::from_rounds(a),
        b: Cell::from_rounds(b),
    };
    Ok(Speed {
        name: format!("{} MiB over {protocol}", arguments.mib),
        wall: pairs(passed, ended),
        busy: pairs(busy_passed, busy_ended),
        bytes: u64::from(arguments.mib) << 20,
    })
}

impl Speed {
    fn judge(&self) -> Result<[Target; 2]> {
        let name = &self.name;
        let ratio = self.wall.a.ratio_to(&self.wall.b).context("no rounds")?;
        let ratio = ratio.median;
        let per_core = |cell: &Cell| -> Result<f64> {
            let busy_s = cell.spread().context("no rounds")?.median;
            Ok(self.bytes as f64 / 1e6 / busy_s.max(1e-9))
        };
        let (copied, ended) = (per_core(&self.busy.a)?, per_core(&self.busy.b)?);
        Ok([
            Target::new(
                ratio >= SHARE_MIN,
                format!(
                    "{name}: ended TLS has {ratio:.2} of the speed of passed TLS (at least {SHARE_MIN})"
                ),
            ),
            Target::new(
                ended >= SPEED_MIN_MB_S,
                format!(
                    "{name}: the proxy alone ends {ended:.0} MB/s on one core, and copies {copied:.0} (at least \
                     {SPEED_MIN_MB_S:.0})"
                ),
            ),
        ])
    }
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
