//! The project's recipes: `cargo xtask RECIPE`.
//!
//! A recipe installs or makes everything that it needs, and keeps its files below `target/xtask`.
//! System tests are packages below `tests/`: here they have short commands, see [`system_tests`].

mod bench_boot;
mod demo;
mod figures;
mod fuzz;
mod layers;
mod lint;
mod nightly;
mod programs;
mod recipes;
mod sdk;
mod sizes;
mod system_tests;
mod test;

use std::process::ExitCode;

fn main() -> ExitCode {
    match recipes::run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
