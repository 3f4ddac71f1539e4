use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Deserialize;

use super::proxy::Proxies;

/// The user's settings for registries: the file `registries.toml` in `MSB_HOME`, the environment,
/// and docker's directories of certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registries {
    /// Settings by the registry's name, with its port, as in the names of images.
    pub by_name: BTreeMap<String, RegistrySettings>,
    /// PEM file of certificate authorities to trust with every registry, besides the host's own.
    pub authorities: Option<PathBuf>,
    /// Proxies for registries without their own.
    pub proxies: Proxies,
    /// Directories with a subdirectory for each registry, which contains `*.crt`, `*.cert` and
    /// `*.key`.
    pub certificate_directories: Vec<PathBuf>,
}

/// The section of one registry. Every member is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RegistrySettings {
    /// Mirrors to try first, in order: `[http://|https://]HOST[:PORT][/PREFIX]`. They do not get
    /// the registry's credentials.
    pub mirrors: Vec<String>,
    /// PEM file of certificate authorities to trust with this registry.
    pub ca: Option<PathBuf>,
    /// True for HTTP without TLS, false for TLS. `None` means TLS, except that a host on the
    /// loopback interface is used without it if it does not answer TLS.
    pub plain_http: Option<bool>,
    /// Proxy for this registry; empty for none.
    pub proxy: Option<String>,
}

/// An error while `registries.toml` is read.
#[derive(Debug, thiserror::Error)]
pub enum RegistriesError {
    /// The file exists and cannot be read.
    #[error("cannot read the registries' settings")]
    Io(#[source] io::Error),
    /// The file is not in the format of docs/registries.md.
    #[error("cannot parse {}", .path.display())]
    Parse {
        /// Path of the file.
        path: PathBuf,
        /// Cause, with its position in the file.
        #[source]
        source: Box<toml::de::Error>,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    registry: BTreeMap<String, RegistrySettings>,
}

impl Default for Registries {
    /// Returns settings without a section for any registry; proxies and certificates are those of
    /// the environment.
    fn default() -> Self {
        let below_home = std::env::home_dir().map(|home| home.join(".config/docker/certs.d"));
        let for_all = PathBuf::from("/etc/docker/certs.d");
        Self {
            by_name: BTreeMap::new(),
            authorities: None,
            proxies: Proxies::from_environment(),
            certificate_directories: below_home.into_iter().chain([for_all]).collect(),
        }
    }
}

impl Registries {
    /// Reads settings from a file, which need not exist. Relative paths in it are relative to its
    /// directory.
    ///
    /// # Errors
    /// If the file exists and cannot be read or parsed.
    pub fn read(path: &Path) -> Result<Self, RegistriesError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(RegistriesError::Io(error)),
        };
        let file: File = toml::from_str(&text).map_err(|source| RegistriesError::Parse {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
        let mut by_name = file.registry;
        let directory = path.parent().unwrap_or(Path::new("."));
        for settings in by_name.values_mut() {
            settings.ca = settings.ca.take().map(|ca| directory.join(ca));
        }
        Ok(Self {
            by_name,
            ..Self::default()
        })
    }

    /// Returns the settings of a registry; the defaults if it has no section.
    pub(super) fn settings_for(&self, name: &str) -> RegistrySettings {
        self.by_name.get(name).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_read_and_unknown_members_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("registries.toml");
        assert!(Registries::read(&path).expect("none").by_name.is_empty());
        fs::write(
            &path,
            "[registry.\"docker.io\"]\nmirrors = [\"mirror.local:5000\"]\n\
             [registry.\"r.local:5000\"]\nca = \"ca.pem\"\nplain-http = true\nproxy = \"\"\n",
        )
        .expect("written");
        let registries = Registries::read(&path).expect("read");
        assert_eq!(
            registries.settings_for("docker.io").mirrors,
            ["mirror.local:5000"]
        );
        let local = registries.settings_for("r.local:5000");
        assert_eq!(local.ca, Some(directory.path().join("ca.pem")));
        assert_eq!(local.plain_http, Some(true));
        assert_eq!(
            registries.settings_for("other.io"),
            RegistrySettings::default()
        );
        for broken in ["registry = 1", "[registry.x]\nmirror = []", "[other]"] {
            fs::write(&path, broken).expect("written");
            assert!(Registries::read(&path).is_err(), "{broken}");
        }
    }
}
