use std::ffi::OsStr;

use image_store::Trust;
use msb_jail::{Layer, Standing, survey};
use msb_vmm::Vmm;
use rustix::fs::statvfs;
use serde::Serialize;

use crate::{Home, KERNEL_REMEDY, Kernel};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// As it should be.
    Good,
    /// msb works, slower or with less.
    Degraded,
    /// Sandboxes cannot run until it is mended.
    Broken,
}

/// One thing that msb needs, and how it stands on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Health {
    /// What was looked at.
    pub subject: String,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub finding: String,
    /// What to do about it, where there is something to do.
    pub remedy: Option<String>,
}

impl Health {
    fn good(subject: &str, finding: String) -> Self {
        Self {
            subject: subject.to_owned(),
            level: Level::Good,
            finding,
            remedy: None,
        }
    }

    fn bad(subject: &str, level: Level, finding: String, remedy: String) -> Self {
        Self {
            subject: subject.to_owned(),
            level,
            finding,
            remedy: Some(remedy),
        }
    }
}

/// Free space below which a pull is likely to fail, in bytes.
const LOW_SPACE_BYTES: u64 = 2 << 30;

/// Looks at everything a sandbox needs: VMMs, kernel, disk, registry credentials.
pub fn diagnose(home: &Home, backends: &[&dyn Vmm]) -> Vec<Health> {
    let mut findings = vmms(backends);
    findings.push(kernel(home));
    findings.push(disk(home));
    findings.push(credentials());
    findings.extend(jail());
    findings
}

/// Each layer that confines the process of a machine.
fn jail() -> Vec<Health> {
    let health = |layer: Layer| match layer.standing {
        Standing::On(detail) => Health::good(&format!("jail {}", layer.name), detail),
        Standing::Partly(detail) | Standing::Off(detail) => Health::bad(
            &format!("jail {}", layer.name),
            Level::Degraded,
            detail,
            "use a newer kernel; without it, treat the process of a sandbox's machine as having \
             the rights of the user who started it"
                .to_owned(),
        ),
    };
    survey().layers.into_iter().map(health).collect()
}

/// Any one VMM is enough; a faster one that is missing is a notice.
fn vmms(backends: &[&dyn Vmm]) -> Vec<Health> {
    let any = backends.iter().any(|vmm| vmm.probe().is_ok());
    let lacking = if any { Level::Degraded } else { Level::Broken };
    let health = |vmm: &&dyn Vmm| {
        let subject = format!("vmm {}", vmm.name());
        match vmm.probe() {
            Ok(()) => Health::good(&subject, "usable".to_owned()),
            Err(error) => Health::bad(&subject, lacking, error.reason, error.remedy),
        }
    };
    backends.iter().map(health).collect()
}

fn kernel(home: &Home) -> Health {
    let msb_kernel = std::env::var_os("MSB_KERNEL");
    match Kernel::find(home, msb_kernel.as_deref().map(OsStr::new), Trust::Stamp) {
        Ok(kernel) => {
            let release = kernel
                .release
                .unwrap_or_else(|| "of unknown release".to_owned());
            Health::good(
                "guest kernel",
                format!("{release} from {}", kernel.source.display()),
            )
        }
        Err(error) => Health::bad(
            "guest kernel",
            Level::Broken,
            error.to_string(),
            KERNEL_REMEDY.to_owned(),
        ),
    }
}

fn disk(home: &Home) -> Health {
    // The home may not be there yet; its nearest ancestor is on the same disk.
    let there = home
        .root()
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(home.root());
    let remedy = || "free space, or set MSB_HOME to a directory on a larger disk".to_owned();
    match statvfs(there) {
        Ok(stat) => {
            let free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
            let finding = format!("{} MiB free at {}", free_bytes >> 20, home.root().display());
            if free_bytes < LOW_SPACE_BYTES {
                Health::bad("disk", Level::Degraded, finding, remedy())
            } else {
                Health::good("disk", finding)
            }
        }
        Err(error) => Health::bad(
            "disk",
            Level::Broken,
            format!("cannot look at {}: {error}", there.display()),
            remedy(),
        ),
    }
}

fn credentials() -> Health {
    const SUBJECT: &str = "registry credentials";
    match image_store::configured_registries() {
        Ok(registries) if registries.is_empty() => {
            Health::good(SUBJECT, "none configured; public images only".to_owned())
        }
        Ok(registries) => Health::good(SUBJECT, format!("for {}", registries.join(", "))),
        Err(error) => Health::bad(
            SUBJECT,
            Level::Degraded,
            error.to_string(),
            "mend or remove the docker config file, or set DOCKER_CONFIG to another directory"
                .to_owned(),
        ),
    }
}
