//! Operating systems on which msb confines nothing.

use crate::{Calls, Jail, JailError, LayerStatus, Limits, Report, Strictness, jail::require};

fn none() -> LayerStatus {
    LayerStatus::Off("this system does not have it".to_owned())
}

pub(crate) fn restrict_files(_: &Jail) -> Result<LayerStatus, JailError> {
    Ok(none())
}

pub(crate) fn restrict_calls(_: Calls) -> Result<LayerStatus, JailError> {
    Ok(none())
}

/// Gives up nothing.
///
/// # Errors
/// If `strictness` is [`Strictness::Required`].
pub fn renounce(_: &Limits, strictness: Strictness) -> Result<Report, JailError> {
    let report = survey();
    require(&report, strictness)?;
    Ok(report)
}

/// Returns a report with every layer off.
pub fn survey() -> Report {
    let mut report = Report::default();
    report.add("landlock", none());
    report.add("seccomp", none());
    report
}

/// Does nothing: the standard library opens every descriptor with close-on-exec.
pub fn close_inherited_descriptors() {}
