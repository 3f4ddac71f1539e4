//! The part of a bundle's `config.json` that the shim itself reads: the annotations.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::Path;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use fs_err::File;
use serde::Deserialize;

/// The most bytes of a `config.json`.
const CONFIG_MAX_BYTES: u64 = 8 << 20;
/// The annotation with the kind of a container in a pod.
const CONTAINER_TYPE: &str = "io.kubernetes.cri.container-type";
/// The annotation with the id of a container's sandbox.
const SANDBOX_ID: &str = "io.kubernetes.cri.sandbox-id";

/// The place of a container in a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Membership {
    /// The container is in no pod.
    Single,
    /// The container is the sandbox of a pod.
    Sandbox,
    /// The container belongs to the pod of this sandbox.
    Member(String),
}

/// The annotations of a bundle cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file cannot be read.
    #[error("cannot read the specification of the container")]
    Read(#[from] io::Error),
    /// The file is too long.
    #[error("the specification of the container has more than {CONFIG_MAX_BYTES} bytes")]
    TooLong,
    /// The file is not a specification.
    #[error("cannot parse the specification of the container")]
    Parse(#[from] serde_json::Error),
    /// The annotations contradict each other.
    #[error(
        "the container has the type {0:?}, the accepted types are \"sandbox\" and \"container\" with a sandbox"
    )]
    Type(String),
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    annotations: Option<HashMap<String, String>>,
}

impl Membership {
    /// Reads the place of a bundle's container.
    pub(crate) fn read(bundle: &Path) -> Result<Self, BundleError> {
        let file = File::open(bundle.join("config.json"))?;
        let mut bytes = Vec::new();
        file.take(CONFIG_MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > CONFIG_MAX_BYTES) {
            return Err(BundleError::TooLong);
        }
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Result<Self, BundleError> {
        let config: Config = serde_json::from_slice(bytes)?;
        let mut annotations = config.annotations.unwrap_or_default();
        match (
            annotations.remove(CONTAINER_TYPE),
            annotations.remove(SANDBOX_ID),
        ) {
            (None, _) => Ok(Self::Single),
            (Some(kind), _) if kind == "sandbox" => Ok(Self::Sandbox),
            (Some(kind), Some(sandbox)) if kind == "container" => Ok(Self::Member(sandbox)),
            (Some(kind), _) => Err(BundleError::Type(kind)),
        }
    }

    /// Returns the id of the group that shares a shim.
    pub(crate) fn group_id<'a>(&'a self, id: &'a str) -> &'a str {
        match self {
            Self::Single | Self::Sandbox => id,
            Self::Member(sandbox) => sandbox,
        }
    }
}

impl Diagnose for BundleError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Read(source) => source.diagnosis(),
            Self::TooLong | Self::Parse(_) | Self::Type(_) => {
                Diagnosis::new(ErrorKind::InvalidArgument)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_say_where_a_container_belongs() {
        let of = |annotations: &str| {
            Membership::parse(format!(r#"{{"annotations": {annotations}}}"#).as_bytes())
        };
        let kind = |kind: &str| format!(r#"{{"{CONTAINER_TYPE}": "{kind}", "{SANDBOX_ID}": "s"}}"#);
        assert_eq!(of("null").expect("it is valid"), Membership::Single);
        assert_eq!(of("{}").expect("it is valid"), Membership::Single);
        let sandbox = of(&kind("sandbox")).expect("it is valid");
        assert_eq!(
            (sandbox.group_id("a"), &sandbox),
            ("a", &Membership::Sandbox)
        );
        let member = of(&kind("container")).expect("it is valid");
        assert_eq!(member.group_id("a"), "s");
        assert!(matches!(of(&kind("pod")), Err(BundleError::Type(found)) if found == "pod"));
        let alone = format!(r#"{{"{CONTAINER_TYPE}": "container"}}"#);
        assert!(matches!(of(&alone), Err(BundleError::Type(_))));
        assert!(matches!(
            Membership::parse(b"text"),
            Err(BundleError::Parse(_))
        ));
    }
}
