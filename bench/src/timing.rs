use std::time::Instant;

use anyhow::Result;

use crate::report::Cell;

/// The times of two actions that ran in turn, in seconds.
pub(crate) struct Pairs {
    pub(crate) a: Cell,
    pub(crate) b: Cell,
}

/// Runs `a` and `b` in turn, so that changes of the machine's speed affect both equally. The first
/// pair is not counted.
pub(crate) fn alternate(
    runs: usize,
    mut a: impl FnMut() -> Result<()>,
    mut b: impl FnMut() -> Result<()>,
) -> Result<Pairs> {
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    for run in 0..=runs {
        let times = (time(&mut a)?, time(&mut b)?);
        if run > 0 {
            of_a.push(times.0);
            of_b.push(times.1);
        }
    }
    Ok(Pairs {
        a: Cell::from_rounds(of_a),
        b: Cell::from_rounds(of_b),
    })
}

fn time(work: &mut impl FnMut() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}
