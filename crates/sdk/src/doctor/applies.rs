//! Applies to directories of the host that were killed: findings, and their end.

use std::path::Path;

use msb_client::{Shared, printable};
use msb_sandbox_files::{ApplyRecords, WaitingApply, applying_problem};

use super::{Finding, Fix, Severity};

/// Returns a finding for each apply that waits to be finished.
pub(super) fn findings(shared: &Shared) -> Vec<Finding> {
    waiting(shared).iter().map(finding).collect()
}

/// Finishes the applies that can be finished. Returns a step for each.
pub(super) fn finish(shared: &Shared) -> Vec<Fix> {
    let records = ApplyRecords::of_home(shared.home().root());
    let waiting = waiting(shared)
        .into_iter()
        .filter_map(|apply| apply.directory);
    // One that cannot be finished is among the findings that follow.
    let finished = waiting.filter(|directory| records.finish(directory).is_ok());
    let fix = |directory: &Path| Fix {
        subject: subject(Some(directory)),
        is_done: true,
        is_required: false,
        action: "finished an msb apply to it that was interrupted".to_owned(),
        commands: Vec::new(),
    };
    finished.map(|directory| fix(&directory)).collect()
}

fn waiting(shared: &Shared) -> Vec<WaitingApply> {
    let records = ApplyRecords::of_home(shared.home().root());
    records.waiting().unwrap_or_default()
}

fn finding(waiting: &WaitingApply) -> Finding {
    let (finding, remedy) = applying_problem(waiting);
    Finding {
        subject: subject(waiting.directory.as_deref()),
        level: Severity::Degraded,
        finding,
        remedy: Some(remedy),
    }
}

fn subject(directory: Option<&Path>) -> String {
    let directory = directory.map(|path| printable(&path.to_string_lossy()));
    format!(
        "directory {}",
        directory.as_deref().unwrap_or("of a damaged record")
    )
}
