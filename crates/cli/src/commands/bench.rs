use msb_bench::{Benchmark, Msb};

use super::Context;
use crate::failure::Outcome;

/// What a benchmark ends with that misses a target.
const EXIT_MISSED: u8 = 1;

pub(crate) fn run(context: &Context, benchmark: &Benchmark) -> Outcome {
    let msb = Msb::this(context.home.root())?;
    let met = msb_bench::run(benchmark, &msb)?;
    Ok(if met { 0 } else { EXIT_MISSED })
}
