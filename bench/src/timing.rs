use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;

/// Times of two things run in turn.
pub(crate) struct Pairs {
    msb: Vec<Duration>,
    bound: Vec<Duration>,
}

/// Runs `a` and `b` in turn, one uncounted pair first, so that a machine whose speed drifts drifts
/// under both.
pub(crate) fn alternate(
    runs: usize,
    mut a: impl FnMut() -> Result<()>,
    mut b: impl FnMut() -> Result<()>,
) -> Result<Pairs> {
    let mut pairs = Pairs {
        msb: Vec::new(),
        bound: Vec::new(),
    };
    for run in 0..=runs {
        let times = (time(&mut a)?, time(&mut b)?);
        if run > 0 {
            pairs.msb.push(times.0);
            pairs.bound.push(times.1);
        }
    }
    Ok(pairs)
}

fn time(work: &mut impl FnMut() -> Result<()>) -> Result<Duration> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}

impl fmt::Display for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ratios: Vec<f64> = self
            .msb
            .iter()
            .zip(&self.bound)
            .map(|(msb, bound)| msb.as_secs_f64() / bound.as_secs_f64())
            .collect();
        ratios.sort_by(f64::total_cmp);
        writeln!(f, "msb load   {}", spread(&self.msb))?;
        writeln!(f, "the bound  {}", spread(&self.bound))?;
        match (ratios.first(), ratios.get(ratios.len() / 2), ratios.last()) {
            (Some(least), Some(median), Some(most)) => {
                write!(
                    f,
                    "ratio      {least:.2} {median:.2} {most:.2} (least, median, most)"
                )
            }
            _ => write!(f, "no runs"),
        }
    }
}

fn spread(times: &[Duration]) -> String {
    let mut times = times.to_vec();
    times.sort();
    let seconds: Vec<String> = [times.first(), times.get(times.len() / 2), times.last()]
        .into_iter()
        .flatten()
        .map(|time| format!("{:.3} s", time.as_secs_f64()))
        .collect();
    seconds.join("  ")
}
