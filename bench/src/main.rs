//! What msb costs, beside the least it could cost. Only ratios travel between machines.

mod bound;
mod exec;
mod layout;
mod load;
mod timing;

use anyhow::Result;
use clap::Parser;

#[derive(Debug, Parser)]
#[command(about = "What msb costs, beside the least it could cost")]
enum Benchmark {
    /// `msb load` of an OCI layout against the bound
    Load(load::Arguments),
    /// `msb exec`: its output against the console's, many at once, a reader that stalls
    Exec(exec::Arguments),
}

fn main() -> Result<()> {
    match Benchmark::parse() {
        Benchmark::Load(arguments) => load::run(&arguments),
        Benchmark::Exec(arguments) => exec::run(&arguments),
    }
}
