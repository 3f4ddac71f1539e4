//! The records of the sandboxes: findings, and their repair from the copies.

use msb_client::Shared;
use msb_runtime::Sandbox;

use super::{Finding, Fix, Severity};

const SUBJECT: &str = "sandboxes";

/// Returns a finding for each sandbox whose record is damaged; one good finding if there is none.
pub(super) fn findings(shared: &Shared) -> Vec<Finding> {
    let listing = match Sandbox::list(shared.home()) {
        Ok(listing) => listing,
        Err(error) => {
            let remedy = "repair the home first".to_owned();
            return vec![degraded(SUBJECT.to_owned(), error.to_string(), remedy)];
        }
    };
    let count = listing.sandboxes.len() + listing.unreadable.len();
    let mut findings = Vec::new();
    for sandbox in &listing.sandboxes {
        let Some(problem) = problem(sandbox) else {
            continue;
        };
        let remedy = "run msb doctor --fix, which writes it again".to_owned();
        findings.push(degraded(subject(&sandbox.spec.name), problem, remedy));
    }
    for sandbox in &listing.unreadable {
        let name = sandbox.name();
        let remedy = format!(
            "until then no image and no volume is pruned; if its files are not needed, remove it with \
             msb rm {name}"
        );
        findings.push(degraded(subject(name), sandbox.error().to_string(), remedy));
    }
    if findings.is_empty() {
        findings.push(Finding {
            subject: SUBJECT.to_owned(),
            level: Severity::Good,
            finding: format!("{count}, all records are intact"),
            remedy: None,
        });
    }
    findings
}

/// Writes the damaged records and copies again, each from the other one. Returns a step for each.
pub(super) fn repair(shared: &Shared) -> Vec<Fix> {
    let sandboxes = Sandbox::all(shared.home()).unwrap_or_default();
    let damaged = sandboxes
        .iter()
        .filter_map(|sandbox| Some((sandbox, problem(sandbox)?)));
    let repaired = damaged.filter_map(|(sandbox, problem)| {
        // What cannot be repaired is among the findings that follow.
        sandbox.repair_record().ok()?;
        Some(Fix {
            subject: subject(&sandbox.spec.name),
            is_done: true,
            is_required: false,
            action: format!("wrote its record again, because {problem}"),
            commands: Vec::new(),
        })
    });
    repaired.collect()
}

/// Returns the problem of a sandbox's record or of its copy, one of which is intact.
fn problem(sandbox: &Sandbox) -> Option<String> {
    match &sandbox.record_damage {
        Some(damage) => Some(format!("its record is damaged ({damage})")),
        None if sandbox.has_damaged_copy() => Some("the copy of its record is damaged".to_owned()),
        None => None,
    }
}

fn subject(name: &str) -> String {
    format!("sandbox {name}")
}

fn degraded(subject: String, finding: String, remedy: String) -> Finding {
    Finding {
        subject,
        level: Severity::Degraded,
        finding,
        remedy: Some(remedy),
    }
}
