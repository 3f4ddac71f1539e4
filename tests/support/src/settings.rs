//! The environment variables that select the msb, VMM, image and limits of system tests.
//! If none of them is set, a test builds and fetches its fixtures.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, anyhow};

/// The msb under test; built from the working tree if unset.
pub const MSB: &str = "MSB_TEST_MSB";
/// The VMM that guests run under, `qemu` or `krun`; QEMU if unset.
pub const VMM: &str = "MSB_TEST_VMM";
/// An image in the store of `MSB_HOME`, which guests then run.
/// If unset, the msb under test loads a Debian with python3.
pub const IMAGE: &str = "MSB_TEST_IMAGE";
/// The memory of a guest, in MiB.
pub const MEMORY_MIB: &str = "MSB_TEST_MEMORY_MIB";
/// Time limit of a guest's first answer, in seconds.
pub const BOOT_TIMEOUT_S: &str = "MSB_TEST_BOOT_TIMEOUT_S";
/// The number of tests whose guests run at once, in all processes; one for each processor if unset.
pub const GUESTS: &str = "MSB_TEST_GUESTS";
/// A directory with the disk images that tests boot from; made with tools of the host if unset.
pub const DISK_IMAGES: &str = "MSB_TEST_DISK_IMAGES";
/// The number of repetitions in a test; each test has its own small default.
pub const COUNT: &str = "MSB_TEST_COUNT";
/// The number of the first random case.
pub const FIRST: &str = "MSB_TEST_FIRST";

/// Runs only every Nth case of a long table.
pub const STEP: &str = "MSB_TEST_STEP";
/// The time limit of a test, in seconds.
pub const LIMIT_S: &str = "MSB_TEST_LIMIT_S";

/// Returns the value of a variable; `None` if it is unset.
///
/// # Errors
/// If the value cannot be parsed.
pub fn parsed<T: FromStr>(name: &str) -> Result<Option<T>> {
    let Ok(text) = std::env::var(name) else {
        return Ok(None);
    };
    let value = text.parse();
    value
        .map(Some)
        .map_err(|_| anyhow!("{name} has the unusable value '{text}'"))
}

/// Returns the name of the VMM: [`VMM`], or QEMU.
#[must_use]
pub fn vmm() -> String {
    std::env::var(VMM).unwrap_or_else(|_| "qemu".to_owned())
}

/// Returns the number of repetitions in a test: [`COUNT`], or the test's own number.
///
/// # Errors
/// If the value is not a number.
pub fn count<T: FromStr>(own: T) -> Result<T> {
    Ok(parsed(COUNT)?.unwrap_or(own))
}

/// Returns N of every Nth case: [`STEP`], or 1, which is all.
///
/// # Errors
/// If the value is not a number.
pub fn step() -> Result<usize> {
    Ok(parsed::<NonZeroUsize>(STEP)?.map_or(1, NonZeroUsize::get))
}

/// Returns true if a variable has a value that is not empty.
#[must_use]
pub fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Returns the path in a variable; `None` if the variable is unset or empty.
#[must_use]
pub fn path(name: &str) -> Option<PathBuf> {
    let value: Option<OsString> = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}
