//! The state of everything that sandboxes need on a host.

mod applies;
mod fixes;
mod records;

use std::path::Path;
use std::sync::Arc;

use msb_client::{Backends, Shared, blocking};
use msb_runtime::{Health, Level};
use serde::{Deserialize, Serialize};

use crate::Error;

pub use fixes::Fix;
pub(crate) use fixes::fix;

/// The state of one thing that sandboxes need, with the keys of `msb doctor --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Severity {
    /// The finding needs no action.
    Good,
    /// msb works, but slower or with fewer features.
    Degraded,
    /// Sandboxes cannot run until the cause is repaired.
    Broken,
}

impl From<Health> for Finding {
    fn from(health: Health) -> Self {
        Self {
            subject: health.subject,
            level: match health.level {
                Level::Good => Severity::Good,
                Level::Degraded => Severity::Degraded,
                Level::Broken => Severity::Broken,
            },
            finding: health.finding,
            remedy: health.remedy,
        }
    }
}

pub(crate) async fn diagnose(shared: Arc<Shared>) -> Result<Vec<Finding>, Error> {
    let found = shared.program().await;
    let path = found.as_ref().ok().cloned();
    let program = (!shared.settings().is_own_program).then(|| program(found));
    let mut findings = blocking(move || Ok::<_, Error>(of_host(&shared, path.as_deref()))).await?;
    findings.extend(program);
    Ok(findings)
}

fn of_host(shared: &Shared, program: Option<&Path>) -> Vec<Finding> {
    let settings = shared.settings();
    let kernel = settings.kernel.as_deref().map(Path::as_os_str);
    let backends = Backends::new(settings);
    let findings = msb_runtime::diagnose(shared.home(), &backends.all(), kernel, program);
    let mut findings: Vec<Finding> = findings.into_iter().map(Into::into).collect();
    findings.push(credentials().into());
    findings.extend(records::findings(shared));
    findings.extend(applies::findings(shared));
    findings
}

/// Returns the finding on the program that starts sandboxes.
fn program(found: Result<std::path::PathBuf, Error>) -> Finding {
    let subject = "program msb".to_owned();
    match found {
        Ok(path) => Finding {
            subject,
            level: Severity::Good,
            finding: path.display().to_string(),
            remedy: None,
        },
        Err(error) => Finding {
            subject,
            level: Severity::Broken,
            finding: error.message().to_owned(),
            remedy: error.hint_for(crate::Face::CommandLine),
        },
    }
}

fn credentials() -> Health {
    const SUBJECT: &str = "registry credentials";
    match oci_registry::configured_registries() {
        Ok(registries) if registries.is_empty() => {
            Health::good(SUBJECT, "none configured; public images only".to_owned())
        }
        Ok(registries) => Health::good(SUBJECT, format!("for {}", registries.join(", "))),
        Err(error) => Health::bad(
            SUBJECT,
            Level::Degraded,
            error.to_string(),
            "repair or remove the docker config file, or set DOCKER_CONFIG to another directory"
                .to_owned(),
        ),
    }
}
