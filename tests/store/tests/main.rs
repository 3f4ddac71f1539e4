//! The tests of the store as a program: see the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    store::main()
}
