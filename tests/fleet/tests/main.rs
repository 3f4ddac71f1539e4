//! The tests with containerd as a program: see the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    fleet::main()
}
