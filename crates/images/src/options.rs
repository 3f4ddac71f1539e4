use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use msb_client::{Error, Shared};
use msb_sandbox_model::Size;
use oci_layers::Limits;
use serde::{Deserialize, Serialize};

/// The user's settings of registries, a file in `MSB_HOME`.
const REGISTRIES_FILE: &str = "registries.toml";

/// The condition under which an image is pulled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PullPolicy {
    /// If the image is not in the store.
    #[default]
    Missing,
    /// Every time.
    Always,
    /// Not at all.
    Never,
}

/// The source of an image, and the limits on its cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SourceOptions {
    /// The platform, as `OS/ARCH[/VARIANT]`; linux on this host's architecture if `None`.
    pub platform: Option<String>,
    /// True to use HTTP without TLS.
    pub plain_http: bool,
    /// File of certificate authorities to trust too, in PEM.
    pub tls_ca: Option<PathBuf>,
    /// Limits on the cost of an image, by name, such as `layer-time`: `3d`.
    pub limits: BTreeMap<String, String>,
    /// The least recently used images are removed if all take more than this; the client's
    /// setting if `None`.
    pub store_limit: Option<Size>,
}

/// The options of a pull.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PullOptions {
    /// The image's name.
    pub name: String,
    /// The source of the image.
    #[serde(flatten)]
    pub source: SourceOptions,
}

/// The options of a load from an archive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LoadOptions {
    /// Path of a directory with an OCI layout, an OCI archive or a docker archive; standard input
    /// of this process if `None`.
    pub path: Option<PathBuf>,
    /// Name of the image, instead of its name in the archive.
    pub tag: Option<String>,
    /// The one image to load of an archive that has several: its tag or its name there, its position as
    /// `@0`, or its digest as `@sha256:…`. All if `None`.
    pub image: Option<String>,
    /// The platform, as `OS/ARCH[/VARIANT]`; linux on this host's architecture if `None`.
    pub platform: Option<String>,
    /// Limits on the cost of an image, by name.
    pub limits: BTreeMap<String, String>,
    /// The least recently used images are removed if all take more than this; the client's
    /// setting if `None`.
    pub store_limit: Option<Size>,
}

/// The options of a prune.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PruneOptions {
    /// True to remove every unused image, not only those without a name.
    pub all: bool,
    /// Only images that have not been used for this long, in ms, are removed.
    pub unused_for_ms: Option<u64>,
    /// True to report only, without changes.
    pub dry_run: bool,
}

impl PruneOptions {
    pub(crate) fn unused_for(&self) -> Option<Duration> {
        self.unused_for_ms.map(Duration::from_millis)
    }
}

impl SourceOptions {
    pub(crate) fn pull_options(&self, shared: &Shared) -> Result<image_import::PullOptions, Error> {
        let file = shared.home().root().join(REGISTRIES_FILE);
        let mut options = image_import::PullOptions {
            registries: oci_registry::Registries::read(&file)?,
            platform: platform(self.platform.as_deref())?,
            plain_http: self.plain_http,
            limits: limits(shared, &self.limits)?,
            ..image_import::PullOptions::default()
        };
        options.registries.authorities.clone_from(&self.tls_ca);
        Ok(options)
    }

    pub(crate) fn store_limit_bytes(&self, shared: &Shared) -> Option<u64> {
        let limit = self.store_limit.or(shared.settings().store_limit);
        limit.map(Size::bytes)
    }
}

/// Parses a platform.
pub(crate) fn platform(text: Option<&str>) -> Result<Option<oci_image::Platform>, Error> {
    Ok(text.map(str::parse).transpose()?)
}

/// Returns the limits: the defaults, changed by the client's settings, then by the operation's.
pub fn limits(shared: &Shared, settings: &BTreeMap<String, String>) -> Result<Limits, Error> {
    let mut limits = Limits::default();
    if let Some(settings) = &shared.settings().limits {
        let set = limits.set(settings);
        set.map_err(|error| Error::from(error).context("cannot use MSB_LIMITS"))?;
    }
    for (name, value) in settings {
        limits.set(&format!("{name}={value}"))?;
    }
    Ok(limits)
}
