//! The state of everything that sandboxes need on a host.

mod applies;
mod fixes;
mod records;

use std::path::Path;
use std::sync::Arc;

use msb_client::{Backends, Shared, blocking};
pub use msb_runtime::{Finding, Severity};

use crate::Error;

pub use fixes::Fix;
pub(crate) use fixes::fix;

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
    let mut findings = msb_runtime::diagnose(shared.home(), &backends.all(), kernel, program);
    findings.push(credentials());
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

fn credentials() -> Finding {
    const SUBJECT: &str = "registry credentials";
    match oci_registry::configured_registries() {
        Ok(registries) if registries.is_empty() => {
            Finding::good(SUBJECT, "none configured; public images only".to_owned())
        }
        Ok(registries) => Finding::good(SUBJECT, format!("for {}", registries.join(", "))),
        Err(error) => Finding::bad(
            SUBJECT,
            Severity::Degraded,
            error.to_string(),
            "repair or remove the docker config file, or set DOCKER_CONFIG to another directory"
                .to_owned(),
        ),
    }
}
