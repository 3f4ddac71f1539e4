use std::io;
use std::path::PathBuf;

use containerd_protocol::events::TaskIo;
use diagnosis::{Diagnose, Diagnosis, ErrorKind};

/// The addresses of a process's input and output, as containerd sent them. An empty one is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StdioPaths {
    pub(crate) stdin: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) has_terminal: bool,
}

/// The target of an output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    Fifo(PathBuf),
    /// A file to append to.
    File(PathBuf),
}

/// The input or output of a process cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The address has a scheme that is not supported.
    #[error(
        "cannot write output to {0:?}: the accepted addresses are paths of FIFOs and file:///path"
    )]
    Scheme(String),
    /// The FIFO or file cannot be opened.
    #[error("cannot open {path:?}")]
    Open {
        /// The path.
        path: PathBuf,
        /// The error of the host.
        #[source]
        source: io::Error,
    },
}

impl StdioPaths {
    /// Checks the addresses of the outputs.
    pub(crate) fn check(&self) -> Result<(), StdioError> {
        target(&self.stdout)?;
        target(&self.stderr)?;
        Ok(())
    }

    /// Returns the input and output as an event has them.
    pub(crate) fn to_io(&self) -> TaskIo {
        TaskIo {
            stdin: self.stdin.clone(),
            stdout: self.stdout.clone(),
            stderr: self.stderr.clone(),
            terminal: self.has_terminal,
        }
    }
}

/// Returns the target of an address; `None` for an empty one.
pub(super) fn target(address: &str) -> Result<Option<Target>, StdioError> {
    let (scheme, path) = address.split_once("://").unwrap_or(("fifo", address));
    match scheme {
        _ if address.is_empty() => Ok(None),
        "fifo" if path.starts_with('/') => Ok(Some(Target::Fifo(path.into()))),
        "file" if path.starts_with('/') => Ok(Some(Target::File(path.into()))),
        _ => Err(StdioError::Scheme(address.to_owned())),
    }
}

impl Diagnose for StdioError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Scheme(_) => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::Open { source, .. } => source.diagnosis(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_fifos_or_files() {
        let found = |address: &str| target(address).map_err(|error| error.to_string());
        assert_eq!(found(""), Ok(None));
        assert_eq!(found("/run/a"), Ok(Some(Target::Fifo("/run/a".into()))));
        assert_eq!(
            found("fifo:///run/a"),
            Ok(Some(Target::Fifo("/run/a".into())))
        );
        assert_eq!(found("file:///log"), Ok(Some(Target::File("/log".into()))));
        for refused in [
            "binary:///bin/logger?id=1",
            "relative",
            "file://host/log",
            "http://a/",
        ] {
            let error = found(refused).expect_err("it is refused");
            assert!(error.contains(refused), "{error}");
        }
    }
}
