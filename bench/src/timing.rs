use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;

/// Times of two things run in turn.
pub(crate) struct Pairs {
    a: Vec<Duration>,
    b: Vec<Duration>,
}

/// Runs `a` and `b` in turn, one uncounted pair first, so that a machine whose speed drifts drifts
/// under both.
pub(crate) fn alternate(
    runs: usize,
    mut a: impl FnMut() -> Result<()>,
    mut b: impl FnMut() -> Result<()>,
) -> Result<Pairs> {
    let mut pairs = Pairs {
        a: Vec::new(),
        b: Vec::new(),
    };
    for run in 0..=runs {
        let times = (time(&mut a)?, time(&mut b)?);
        if run > 0 {
            pairs.a.push(times.0);
            pairs.b.push(times.1);
        }
    }
    Ok(pairs)
}

fn time(work: &mut impl FnMut() -> Result<()>) -> Result<Duration> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}

impl Pairs {
    /// The median of `a`'s time over `b`'s.
    pub(crate) fn median_ratio(&self) -> Option<f64> {
        let ratios = self.ratios();
        ratios.get(ratios.len() / 2).copied()
    }

    /// The median of `a`'s times.
    pub(crate) fn median_a(&self) -> Option<Duration> {
        let mut times = self.a.clone();
        times.sort();
        times.get(times.len() / 2).copied()
    }

    /// For a person, with the names of both.
    pub(crate) fn shown<'a>(&'a self, a: &'a str, b: &'a str) -> impl fmt::Display + 'a {
        Shown { pairs: self, a, b }
    }

    fn ratios(&self) -> Vec<f64> {
        let pairs = self.a.iter().zip(&self.b);
        let mut ratios: Vec<f64> = pairs
            .map(|(a, b)| a.as_secs_f64() / b.as_secs_f64())
            .collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }
}

struct Shown<'a> {
    pairs: &'a Pairs,
    a: &'a str,
    b: &'a str,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.a.len().max(self.b.len()).max("ratio".len());
        writeln!(f, "{:width$}  {}", self.a, spread(&self.pairs.a))?;
        writeln!(f, "{:width$}  {}", self.b, spread(&self.pairs.b))?;
        let ratios = self.pairs.ratios();
        match (ratios.first(), ratios.get(ratios.len() / 2), ratios.last()) {
            (Some(least), Some(median), Some(most)) => write!(
                f,
                "{:width$}  {least:.2} {median:.2} {most:.2} (least, median, most)",
                "ratio"
            ),
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
