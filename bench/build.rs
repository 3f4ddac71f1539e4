//! Builds the runner that measures in guests. `MSB_BENCH_RUNNER` names a prebuilt runner instead.

use guest_program::{BuildError, GuestProgram};

fn main() -> Result<(), BuildError> {
    GuestProgram {
        package: "msb-bench-runner",
        ready_made: "MSB_BENCH_RUNNER",
        workspace: "..",
        sources: &["bench/runner/src", "bench/runner/Cargo.toml", "Cargo.lock"],
    }
    .build()
}
