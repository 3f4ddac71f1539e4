//! The packages of the guest kernel.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use test_fixtures::command::quiet;
use test_fixtures::{kernel, paths};

/// Adds the kernel at `library` to a package, and its licences and the offer of its sources.
pub(super) fn add_to(package: &Path, library: &str) -> Result<()> {
    let mut assemble = Command::new("python3");
    assemble
        .arg(paths::root().join("sdk/kernel/assemble.py"))
        .arg(kernel::debian_package()?)
        .arg(package)
        .arg(library);
    quiet(&mut assemble).map(drop)
}
