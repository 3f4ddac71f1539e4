//! The boot tests as a program: see the library of this package.

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    boot::main()
}
