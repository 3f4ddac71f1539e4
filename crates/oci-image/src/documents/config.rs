use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::platform::Platform;
use crate::{Digest, ManifestError};

/// An image's instructions for running it. They are data for the guest; the host does not act on
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct ImageConfig {
    /// Program, and its first arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    /// Arguments after those of the entrypoint; the whole command if there is no entrypoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cmd: Option<Vec<String>>,
    /// Environment variables, as `NAME=value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<String>>,
    /// Working directory of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// `USER[:GROUP]`, by names or numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Labels: free text by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Signal that asks the command to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_signal: Option<String>,
    /// Ports and protocols, such as `80/tcp`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "keys")]
    pub exposed_ports: Option<Vec<String>>,
    /// Paths at which the image expects a volume.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "keys")]
    pub volumes: Option<Vec<String>>,
}

/// Deserializes the keys of an object, as in an image's config, or a list, as in a record.
fn keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Keys {
        Object(BTreeMap<String, serde_json::Value>),
        List(Vec<String>),
    }
    Ok(
        Option::<Keys>::deserialize(deserializer)?.map(|keys| match keys {
            Keys::Object(entries) => entries.into_keys().collect(),
            Keys::List(list) => list,
        }),
    )
}

/// The members of an image's config blob that msb uses.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// Platform of the image; `None` if the config states none.
    pub platform: Option<Platform>,
    /// Time of creation, as the config states it.
    pub created: Option<String>,
    /// Instructions for running the image.
    pub config: ImageConfig,
    /// Diff IDs of the layers, the base layer first.
    pub diff_ids: Vec<Digest>,
    /// The blob itself, as it was parsed.
    pub raw: Arc<[u8]>,
}

#[derive(Deserialize)]
struct RawConfigFile {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    variant: Option<String>,
    created: Option<String>,
    config: Option<ImageConfig>,
    rootfs: Option<RawRootFs>,
}

#[derive(Deserialize)]
struct RawRootFs {
    diff_ids: Option<Vec<String>>,
}

impl ConfigFile {
    /// Parses the blob. An invalid digest is an error; a missing platform is not.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let raw: RawConfigFile =
            serde_json::from_slice(bytes).map_err(|source| ManifestError::Json {
                what: "image config",
                source,
            })?;
        let diff_ids = raw
            .rootfs
            .and_then(|rootfs| rootfs.diff_ids)
            .unwrap_or_default();
        let platform = (!raw.os.is_empty() && !raw.architecture.is_empty())
            .then(|| Platform::new(&raw.os, &raw.architecture, raw.variant.as_deref()));
        Ok(Self {
            platform,
            created: raw.created,
            config: raw.config.unwrap_or_default(),
            diff_ids: diff_ids
                .iter()
                .map(|text| text.parse())
                .collect::<Result<_, _>>()
                .map_err(|source| ManifestError::Digest {
                    what: "diff ID",
                    source,
                })?,
            raw: bytes.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_docker_config_is_read_and_comes_back_from_a_record() {
        let json = br#"{"os":"linux","architecture":"amd64","created":"2020-01-01T00:00:00Z",
            "config":{"Env":["A=1"],"Cmd":null,"Entrypoint":["/bin/sh"],"WorkingDir":"/w","User":"",
            "ExposedPorts":{"80/tcp":{}},"Volumes":null,"Labels":{"a":"b"},"OnBuild":null},
            "rootfs":{"type":"layers","diff_ids":[]},"history":[{"created_by":"x"}]}"#;
        let file = ConfigFile::parse(json).expect("a config");
        assert_eq!(
            file.platform
                .map(|platform| platform.to_string())
                .as_deref(),
            Some("linux/amd64")
        );
        assert_eq!(file.config.exposed_ports, Some(vec!["80/tcp".to_owned()]));
        let text = serde_json::to_string(&file.config).expect("a record");
        assert_eq!(
            serde_json::from_str::<ImageConfig>(&text).expect("read back"),
            file.config
        );
    }

    #[test]
    fn broken_configs_are_refused() {
        for json in [
            "",
            "[]",
            r#"{"rootfs":{"diff_ids":["../../etc"]}}"#,
            r#"{"config":{"Env":5}}"#,
        ] {
            assert!(ConfigFile::parse(json.as_bytes()).is_err(), "{json}");
        }
    }
}
