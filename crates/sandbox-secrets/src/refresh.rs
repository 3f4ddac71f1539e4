//! The process that reads the sources of secrets again, `msb __secrets`.

use std::path::Path;

use msb_runtime::{SandboxPaths, Spec};
use msb_secrets::SecretSource;

use crate::control::ControlFailure;
use crate::{SecretsError, recorded};

/// Reads the sources of the secrets of a running sandbox again, each before its value expires, until the sandbox's
/// network process has ended. A source that cannot be read is tried again; its value expires meanwhile.
///
/// # Errors
/// If the sandbox's description cannot be read, or its network process cannot be reached.
pub fn refresh(directory: &Path) -> Result<(), SecretsError> {
    keep_memory_private();
    let files = SandboxPaths {
        directory: directory.to_owned(),
    };
    let spec = Spec::read(directory).map_err(|source| SecretsError::Unreadable {
        sandbox: directory.display().to_string(),
        source,
    })?;
    // The state of the secret and the answers of requests tell of a source that cannot be read.
    let refreshed = msb_secrets::refresh(recorded(&spec), &files.secrets_socket(), &mut |_| {});
    Ok(refreshed.map_err(ControlFailure::from)?)
}

/// Returns the host's variables that have values of a sandbox's secrets. The process that reads other sources again is
/// started without them: it would keep the values in its environment while the sandbox runs, and hand them to the
/// commands that it runs.
pub fn variables(spec: &Spec) -> impl Iterator<Item = &str> {
    recorded(spec)
        .iter()
        .filter_map(|secret| match &secret.from {
            SecretSource::Env(name) => Some(name.as_str()),
            SecretSource::File(_) | SecretSource::Command(_) | SecretSource::Given => None,
        })
}

/// Keeps the values out of core files, and their memory from other processes of the user.
fn keep_memory_private() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Every kernel that sandboxes run on has this.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_secrets_are_told() {
        let mut spec = testkit::sandboxes::spec("box");
        assert_eq!(variables(&spec).count(), 0);
        let texts = [
            "A@api.example.com",
            "name=B,to=api.example.com,from=cmd:true,every=1h",
            "name=C,to=api.example.com,from=env:OTHER",
            "name=D,to=api.example.com,from=file:/key",
        ];
        spec.network = Some(msb_runtime::network::Settings {
            secrets: texts.map(|text| text.parse().expect("a secret")).to_vec(),
            ..Default::default()
        });
        assert_eq!(variables(&spec).collect::<Vec<_>>(), ["A", "OTHER"]);
    }
}
