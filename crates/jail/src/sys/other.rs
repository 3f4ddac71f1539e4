//! Hosts on which msb confines nothing.

use crate::{Calls, Jail, JailError, Limits, Report, Standing, Strictness, jail::require};

fn none() -> Standing {
    Standing::Off("this system has none".to_owned())
}

pub(crate) fn restrict_files(_: &Jail) -> Result<Standing, JailError> {
    Ok(none())
}

pub(crate) fn restrict_calls(_: Calls) -> Result<Standing, JailError> {
    Ok(none())
}

/// Gives nothing up.
///
/// # Errors
/// With [`Strictness::Required`].
pub fn renounce(_: &Limits, strictness: Strictness) -> Result<Report, JailError> {
    let report = survey();
    require(&report, strictness)?;
    Ok(report)
}

/// Every layer is off.
pub fn survey() -> Report {
    let mut report = Report::default();
    report.add("landlock", none());
    report.add("seccomp", none());
    report
}

/// Does nothing: the standard library leaves children no descriptors that it has opened.
pub fn keep_descriptors_from_children() {}
