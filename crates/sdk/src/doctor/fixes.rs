//! The steps that repair what the doctor finds. Those that need no root are done, for the others
//! there are commands to run.

use std::sync::Arc;

use host_setup::Host;
use msb_client::{Backends, Shared, blocking};
use msb_vmm::Requirement;
use serde::{Deserialize, Serialize};

use super::{Finding, Severity, applies, diagnose, records};
use crate::Error;

/// A step that repairs a finding of the doctor, with the keys of `msb doctor --fix --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Fix {
    /// The subject of the finding, such as `vmm qemu`.
    pub subject: String,
    /// True if the step was done; false if it is left to the user.
    pub is_done: bool,
    /// True if sandboxes cannot run before this step, or before the one of another VMM.
    pub is_required: bool,
    /// The step, in words.
    pub action: String,
    /// The commands of the step, for a shell; empty if no command does it.
    pub commands: Vec<String>,
}

/// Does every step that needs no root, and returns these and all others.
pub(crate) async fn fix(shared: Arc<Shared>) -> Result<Vec<Fix>, Error> {
    let before = diagnose(Arc::clone(&shared)).await?;
    // Closes the home; what this cannot repair is among the findings that follow.
    let is_closed = shared.ready().await.is_ok();
    let repairing = Arc::clone(&shared);
    let repair = move || {
        let mut fixes = records::repair(&repairing);
        fixes.extend(applies::finish(&repairing));
        Ok::<_, Error>(fixes)
    };
    let repaired = blocking(repair).await?;
    let after = diagnose(Arc::clone(&shared)).await?;
    let mut fixes = done(&before, &after, is_closed);
    fixes.extend(repaired);
    let open = blocking(move || Ok::<_, Error>(open(&shared, &after))).await?;
    fixes.extend(open);
    Ok(fixes)
}

/// Returns the steps that were done between two diagnoses.
fn done(before: &[Finding], after: &[Finding], is_closed: bool) -> Vec<Fix> {
    let is_good = |finding: &&Finding| finding.level == Severity::Good;
    let home = |findings: &[Finding]| findings.iter().find(|each| each.subject == "home").cloned();
    let (Some(before), Some(after)) = (home(before), home(after)) else {
        return Vec::new();
    };
    if !is_closed || is_good(&&before) || !is_good(&&after) {
        return Vec::new();
    }
    vec![Fix {
        subject: before.subject,
        is_done: true,
        is_required: false,
        action: format!("closed the home to other users, because {}", before.finding),
        commands: Vec::new(),
    }]
}

/// Returns the steps that are left to the user.
fn open(shared: &Shared, findings: &[Finding]) -> Vec<Fix> {
    let backends = Backends::new(shared.settings());
    let missing: Vec<(String, Requirement)> = backends
        .all()
        .iter()
        .filter_map(|vmm| {
            Some((
                format!("vmm {}", vmm.name()),
                vmm.probe().err()?.requirement,
            ))
        })
        .collect();
    let host = Host::read();
    let requirement = |subject: &str| {
        let found = missing.iter().find(|(vmm, _)| vmm == subject);
        found.map(|(_, requirement)| *requirement)
    };
    // A host with KVM needs no QEMU, and one with QEMU works without KVM.
    let is_due = |finding: &&Finding| match requirement(&finding.subject) {
        Some(Requirement::Qemu | Requirement::Processor) => finding.level == Severity::Broken,
        Some(_) => true,
        None => finding.level != Severity::Good,
    };
    let due = findings
        .iter()
        .filter(|finding| finding.level != Severity::Good)
        .filter(is_due);
    due.map(|finding| step(host, finding, requirement(&finding.subject)))
        .collect()
}

/// Returns the step that repairs a finding. Without a known command it is the doctor's remedy.
fn step(host: Host, finding: &Finding, requirement: Option<Requirement>) -> Fix {
    let step = match requirement {
        Some(Requirement::KvmPermission) => Some(host.permit_kvm()),
        Some(Requirement::KvmDevice) => Some(host.load_kvm()),
        Some(Requirement::Qemu) => host.install_qemu(),
        Some(Requirement::Processor | Requirement::Other) => None,
        None if finding.subject == "guest kernel" => host.install_kernel(),
        None => None,
    };
    let remedy = finding.remedy.as_ref().unwrap_or(&finding.finding);
    let (action, commands) = match step {
        Some(step) => (step.action.to_owned(), vec![step.command]),
        None => (remedy.clone(), Vec::new()),
    };
    Fix {
        subject: finding.subject.clone(),
        is_done: false,
        // QEMU runs sandboxes on every processor.
        is_required: finding.level == Severity::Broken
            && requirement != Some(Requirement::Processor),
        action,
        commands,
    }
}

#[cfg(test)]
mod tests {
    use host_setup::Distribution;

    use super::*;

    fn finding(subject: &str, level: Severity) -> Finding {
        Finding {
            subject: subject.to_owned(),
            level,
            finding: "it is missing".to_owned(),
            remedy: Some("get it".to_owned()),
        }
    }

    fn host(os_release: &str) -> Host {
        Host {
            distribution: Distribution::parse(os_release),
            is_root: false,
            kvm_module: "kvm_amd",
        }
    }

    #[test]
    fn a_missing_program_is_a_command_of_the_distribution() {
        let broken = finding("vmm qemu", Severity::Broken);
        let host = host("ID=debian");
        let fix = step(host, &broken, Some(Requirement::Qemu));
        let install = host.install_qemu().expect("a package");
        assert_eq!(fix.commands, [install.command]);
        assert!(fix.is_required && !fix.is_done);
    }

    #[test]
    fn what_no_command_repairs_keeps_the_remedy() {
        let debian = host("ID=debian");
        for (host, subject, requirement) in [
            (host(""), "vmm qemu", Some(Requirement::Qemu)),
            (debian, "vmm krun", Some(Requirement::Processor)),
            // Debian has no package of a kernel.
            (debian, "guest kernel", None),
            (debian, "disk", None),
        ] {
            let fix = step(host, &finding(subject, Severity::Degraded), requirement);
            assert_eq!((fix.action.as_str(), fix.commands.len()), ("get it", 0));
            assert!(!fix.is_required);
        }
    }

    #[test]
    fn a_closed_home_is_a_step_that_was_done() {
        let (open, closed) = (
            [finding("home", Severity::Degraded)],
            [finding("home", Severity::Good)],
        );
        assert!(done(&open, &closed, true)[0].is_done);
        assert!(done(&closed, &closed, true).is_empty());
        assert!(done(&open, &open, false).is_empty());
    }
}
