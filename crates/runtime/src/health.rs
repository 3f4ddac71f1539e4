use std::error::Error;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use diagnosis::Diagnose as _;
use guest_kernel::RootFilesystems;
use image_store::VerifyMode;
use msb_jail::{Layer, LayerStatus, survey};
use msb_vmm::Backend;
use rustix::fs::statvfs;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::{Home, Kernel, KernelSearch};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The finding needs no action.
    Good,
    /// msb works, but slower or with fewer features.
    Degraded,
    /// Sandboxes cannot run until the cause is repaired.
    Broken,
}

/// The state on this host of one thing that sandboxes need, with the keys of `msb doctor --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The inspected thing, such as `guest kernel`.
    pub subject: String,
    /// The severity of the finding.
    pub level: Severity,
    /// The result of the inspection.
    pub finding: String,
    /// The action that improves the state; `None` if no action is needed.
    pub remedy: Option<String>,
}

impl Finding {
    /// Returns a finding that needs no action.
    pub fn good(subject: &str, finding: String) -> Self {
        Self {
            subject: subject.to_owned(),
            level: Severity::Good,
            finding,
            remedy: None,
        }
    }

    /// Returns a finding with the action that improves the state.
    pub fn bad(
        subject: &str,
        level: Severity,
        finding: String,
        remedy: impl Into<Option<String>>,
    ) -> Self {
        Self {
            subject: subject.to_owned(),
            level,
            finding,
            remedy: remedy.into(),
        }
    }
}

/// Free space below which a pull is likely to fail, in bytes.
const LOW_SPACE_BYTES: u64 = 2 << 30;

/// Inspects everything a sandbox needs: VMMs, home, kernel, disk, jail.
/// The home is made if it does not exist. `msb_kernel` is the kernel that the user gave, `program`
/// the program msb; `None` if it was not found.
pub fn diagnose(
    home: &Home,
    backends: &[&dyn Backend],
    msb_kernel: Option<&OsStr>,
    program: Option<&Path>,
) -> Vec<Finding> {
    let mut findings = vmms(backends);
    let home_health = home_health(home);
    let is_usable = home_health.level != Severity::Broken;
    findings.push(home_health);
    findings.push(if is_usable {
        kernel(home, msb_kernel, program)
    } else {
        kernel_without_home()
    });
    findings.push(disk(home));
    findings.extend(jail());
    findings
}

/// Inspects each layer that confines a VMM process.
fn jail() -> Vec<Finding> {
    let health = |layer: Layer| {
        match layer.status {
        LayerStatus::On(detail) => Finding::good(&format!("jail {}", layer.name), detail),
        LayerStatus::Partly(detail) | LayerStatus::Off(detail) => Finding::bad(
            &format!("jail {}", layer.name),
            Severity::Degraded,
            detail,
            "use a newer kernel; without it, assume that the process of a sandbox's machine has the \
             rights of the user who started it"
                .to_owned(),
        ),
    }
    };
    survey().layers.into_iter().map(health).collect()
}

/// Inspects the VMMs. One is enough; a missing faster one is only a notice.
fn vmms(backends: &[&dyn Backend]) -> Vec<Finding> {
    let any = backends.iter().any(|vmm| vmm.probe().is_ok());
    let lacking = if any {
        Severity::Degraded
    } else {
        Severity::Broken
    };
    let health = |vmm: &&dyn Backend| {
        let subject = format!("vmm {}", vmm.name());
        match vmm.probe() {
            Ok(()) => Finding::good(&subject, "usable".to_owned()),
            Err(error) => Finding::bad(&subject, lacking, error.reason, error.remedy),
        }
    };
    backends.iter().map(health).collect()
}

/// Tries to write to the home, and checks that it is closed to other users.
fn home_health(home: &Home) -> Finding {
    const SUBJECT: &str = "home";
    let root = home.root().display();
    if let Err(error) = try_writing(home.root()) {
        let user = geteuid().as_raw();
        let finding = format!("user {user} cannot write to {root}: {}", error.kind());
        let remedy = format!(
            "give it to user {user} with chown, or set MSB_HOME to a directory that this user can \
             write to"
        );
        return Finding::bad(SUBJECT, Severity::Broken, finding, remedy);
    }
    match home.openness() {
        Ok(None) => Finding::good(SUBJECT, format!("{root}, closed to other users")),
        Ok(Some(mode)) => Finding::bad(
            SUBJECT,
            Severity::Degraded,
            format!("other users of this host can enter {root} (mode {mode:03o})"),
            format!("run chmod 700 {root}, or any msb command that uses it, which does the same"),
        ),
        Err(error) => {
            let remedy = error.diagnosis().advice();
            Finding::bad(SUBJECT, Severity::Broken, error.to_string(), remedy)
        }
    }
}

fn try_writing(directory: &Path) -> io::Result<()> {
    durable_files::ensure_directory(directory)?;
    // The file is removed as it is dropped.
    durable_files::temporary_file(directory, durable_files::UNFINISHED).map(drop)
}

/// Returns the kernel's finding if there is no usable home to keep one in.
fn kernel_without_home() -> Finding {
    Finding::bad(
        "guest kernel",
        Severity::Degraded,
        "not checked, because it is kept in the home".to_owned(),
        "repair the home first".to_owned(),
    )
}

fn kernel(home: &Home, msb_kernel: Option<&OsStr>, program: Option<&Path>) -> Finding {
    let search = KernelSearch {
        msb_kernel,
        program,
        needed: RootFilesystems::Usual,
    };
    match Kernel::find(home, search, VerifyMode::Stamp) {
        Ok(kernel) => {
            let release = kernel
                .release
                .unwrap_or_else(|| "unknown release".to_owned());
            Finding::good(
                "guest kernel",
                format!("{release} from {}", kernel.source.display()),
            )
        }
        Err(error) => {
            let remedy = error.diagnosis().advice();
            let mut finding = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                finding.push_str(&format!(": {error}"));
                cause = error.source();
            }
            Finding::bad("guest kernel", Severity::Broken, finding, remedy)
        }
    }
}

fn disk(home: &Home) -> Finding {
    // The home may not exist yet; its nearest ancestor is on the same disk.
    let there = home
        .root()
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(home.root());
    let remedy = || "free some space, or set MSB_HOME to a directory on a larger disk".to_owned();
    match statvfs(there) {
        Ok(stat) => {
            let free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
            let finding = format!("{} MiB free at {}", free_bytes >> 20, home.root().display());
            if free_bytes < LOW_SPACE_BYTES {
                Finding::bad("disk", Severity::Degraded, finding, remedy())
            } else {
                Finding::good("disk", finding)
            }
        }
        Err(error) => Finding::bad(
            "disk",
            Severity::Broken,
            format!("cannot inspect {}: {error}", there.display()),
            remedy(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn level(findings: &[Finding], subject: &str) -> Severity {
        let found = findings.iter().find(|health| health.subject == subject);
        found.expect("it is looked at").level
    }

    #[test]
    fn a_home_that_cannot_be_written_is_what_is_broken() {
        // No user can make a directory there, not even root.
        let findings = diagnose(&Home::new("/proc/msb-home"), &[], None, None);
        assert_eq!(level(&findings, "home"), Severity::Broken);
        assert_ne!(level(&findings, "guest kernel"), Severity::Broken);
        let home = home_health(&Home::new("/proc/msb-home"));
        assert!(home.finding.contains("cannot write to /proc/msb-home"));
        assert!(home.remedy.is_some_and(|text| text.contains("MSB_HOME")));
    }

    #[test]
    fn a_home_is_good_when_it_is_closed() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path().join("home"));
        assert_eq!(home_health(&home).level, Severity::Good);
        let open = std::fs::Permissions::from_mode(0o755);
        fs_err::set_permissions(home.root(), open).expect("set");
        assert_eq!(home_health(&home).level, Severity::Degraded);
        fs_err::write(home.root().join("notes"), "").expect("written");
        assert_eq!(home_health(&home).level, Severity::Broken);
    }
}
